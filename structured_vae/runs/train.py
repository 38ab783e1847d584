"""Training runs: start one, resume one."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.strategies import DDPStrategy

from ..data import ImageDataset
from ..errors import ConfigError, RunError, TerminatedError
from ..training.base import Training
from ..training.batches import ImageData
from ..training.checkpoints import EpochCheckpoints, WholeCheckpoints, read_checkpoint
from ..training.epochs import EvaluatedAtLast, RateByEpoch
from ..training.pictures import Pictures
from ..training.record import RunRecord
from .assembly import by_epoch, data_of, dataset_of, initialised, training_of
from .config import TrainConfig
from .folder import Run, Which
from .networks import load_vae
from .processes import check_room, end_with_launcher, launching

PICTURED = 50
"""Validation images in a picture of reconstructions."""


def train(config: TrainConfig, folder: str | Path, progress: bool = True) -> Run:
    """Trains a VAE and leaves checkpoints, metrics and pictures in a new folder.

    Everything is checked before the folder is made: the data, the solver, and whether the two fit.

    Args:
        config: what to train.
        folder: must not hold a run yet.
        progress: whether to show a bar.

    Raises:
        ConfigError: encoder, solver and estimator do not fit, there is no such device, or there are more processes
            than cores or GPUs.
        RunError: the folder holds a run, or cannot be written to: a full disk, say.
        TerminatedError: the training was asked to end, by SIGTERM.
        DataError: images are missing or damaged.
        solvers.SolverError: the solver is unknown or its package missing.
    """
    end_with_launcher()
    run = Run.at(folder)
    dataset = dataset_of(config)
    vae = initialised(config, dataset.pixels)
    training = training_of(config, vae)
    data = data_of(config, dataset)
    trainer = _trainer(config, run, dataset, training, progress)
    if trainer.is_global_zero:
        run.create(config)
        run.remove_leftovers()
    _fit(trainer, run, data, training, checkpoint=None)
    return run


def resume(
    folder: str | Path, epochs: int | None = None, progress: bool = True, start: Which = "last"
) -> Run:
    """Goes on with a run from its last checkpoint; the result is that of an uninterrupted run.

    Args:
        folder: of the run.
        epochs: a new total; None for the one that the run was started with. What falls over all epochs, the learning
            rate or dropout, takes from there on the course that it has over the new total.
        progress: whether to show a bar.
        start: the checkpoint to go on from. Both hold all that a training needs; from the best one, the epochs after it
            are done again.

    Raises:
        ConfigError: there are more processes than cores or GPUs here, or no such device.
        RunError: the folder is no run, the run has reached its last epoch, its checkpoint is missing or damaged, or the
            folder cannot be written to.
        TerminatedError: the training was asked to end, by SIGTERM.
    """
    end_with_launcher()
    run = Run.at(folder)
    config = run.config()
    checkpoint = _checkpoint_to_go_on_from(run, start)
    done = 0
    if checkpoint:
        load_vae(folder, start)  # refuses weights that do not fit, before any work
        done = read_checkpoint(checkpoint)["epoch"] + 1
    config = config if epochs is None else replace(config, epochs=epochs)
    if done >= config.epochs:
        raise RunError(
            f"{folder} has trained all of its {done} epochs; for more: "
            f"structured-vae resume {folder} --epochs {2 * done}"
        )
    dataset = dataset_of(config)
    vae = initialised(config, dataset.pixels)
    training = training_of(config, vae)
    if checkpoint:
        _refuse_other_weights(training, checkpoint)
    data = data_of(config, dataset)
    trainer = _trainer(config, run, dataset, training, progress)
    if trainer.is_global_zero:
        run.remove_leftovers()
        run.save_config(config)
    _fit(trainer, run, data, training, checkpoint)
    return run


def _checkpoint_to_go_on_from(run: Run, start: Which) -> Path | None:
    """The file; None if the run was stopped in its first epoch, so that nothing is lost at its beginning.

    Raises:
        RunError: there is none, though the run has trained for longer.
    """
    checkpoint, other = run.checkpoint(start), run.checkpoint("best" if start == "last" else "last")
    if checkpoint.exists():
        return checkpoint
    if other.exists():
        raise RunError(
            f"{checkpoint} does not exist, and the run is not begun anew over {other.name}. Go on from that: "
            f"structured-vae resume {run.folder} --from {other.stem}"
        )
    if (recorded := run.recorded_epochs()) > 1:
        raise RunError(
            f"{run.checkpoints} holds no checkpoint, and the run is not begun anew over the metrics of {recorded} "
            "epochs. Put last.ckpt or best.ckpt back, or train in another folder: structured-vae train --config "
            f"{run.config_file} --run FOLDER"
        )
    return None


def _refuse_other_weights(training: Training, checkpoint: Path) -> None:
    """Weights of the estimator belong to a run too.

    Raises:
        RunError: the checkpoint's are not those of the configuration.
    """
    try:
        training.load_state_dict(read_checkpoint(checkpoint)["state_dict"])
    except RuntimeError as error:
        raise RunError(f"{checkpoint} does not fit the run's configuration: {error}") from error


def _trainer(
    config: TrainConfig, run: Run, dataset: ImageDataset, training: Training, progress: bool
) -> pl.Trainer:
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError("device is cuda, but torch sees none; use --device cpu")
    cuda = config.device != "cpu" and torch.cuda.is_available()
    check_room(config.processes, cuda)
    pictured = torch.from_numpy(dataset.validation.images[:PICTURED]) if dataset.shown else None
    size = (dataset.channels, dataset.height, dataset.width)
    callbacks = [
        RunRecord(run.folder, config.to_dict()),
        Pictures(run.pictures, pictured, size, config.seed, config.picture_every),
        EpochCheckpoints(run.checkpoints, training.monitored),
        RateByEpoch(by_epoch(config.learning_rate, config.rate_decay, config.epochs)),
        EvaluatedAtLast(),
    ]
    if progress:
        callbacks.append(RichProgressBar(refresh_rate=10, leave=True))
    logging.getLogger("lightning.pytorch.utilities.rank_zero").setLevel(logging.WARNING)
    return pl.Trainer(
        accelerator="cuda" if cuda else "cpu",
        devices=config.processes,
        num_nodes=config.nodes,
        strategy="auto" if config.processes * config.nodes == 1 else DDPStrategy(),
        max_epochs=config.epochs,
        callbacks=callbacks,
        logger=TensorBoardLogger(run.folder, name="tensorboard", version=""),
        plugins=[WholeCheckpoints()],
        num_sanity_val_steps=0,
        check_val_every_n_epoch=config.evaluate_every,
        enable_checkpointing=True,
        enable_progress_bar=progress,
        enable_model_summary=False,
        log_every_n_steps=50,
        use_distributed_sampler=False,
    )


def _fit(
    trainer: pl.Trainer,
    run: Run,
    data: ImageData,
    training: Training,
    checkpoint: Path | None,
) -> None:
    again = f"structured-vae resume {run.folder}"
    with warnings.catch_warnings(), _told_once(), _handlers_restored(), launching():
        # Batches are slices of tensors in memory: worker processes would only add copies.
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated.*")  # Lightning beside torch
        try:
            trainer.fit(training, data, ckpt_path=checkpoint, weights_only=True)
        except SystemExit as stop:  # Lightning's answer to both signals
            if not trainer.received_sigterm:
                raise KeyboardInterrupt(f"stopped; it goes on from the last epoch with: {again}") from stop
        except OSError as error:
            raise RunError(
                f"{run.folder} cannot be written to ({error}). What was saved before is whole; when there is room, "
                f"go on with: {again}"
            ) from error
    if trainer.received_sigterm:
        raise TerminatedError(f"training was terminated; it goes on from the last epoch with: {again}")


@contextmanager
def _told_once() -> Iterator[None]:
    """What TensorBoard's thread cannot write, the training raises at its next call: the thread need not print it."""
    plain = threading.excepthook

    def print_others(thread: threading.ExceptHookArgs) -> None:
        if not isinstance(thread.exc_value, OSError):
            plain(thread)

    threading.excepthook = print_others
    try:
        yield
    finally:
        threading.excepthook = plain


@contextmanager
def _handlers_restored() -> Iterator[None]:
    """Lightning leaves its own handlers of signals behind where a logger fails beside the training."""
    numbers = signal.SIGINT, signal.SIGTERM
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)
