"""Training runs: start one, resume one."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import EarlyStopping, RichProgressBar, TQDMProgressBar
from lightning.pytorch.loggers import Logger
from lightning.pytorch.strategies import DDPStrategy

from models import DiscreteVAE

from ..data import ImageDataset
from ..errors import ConfigError, RunError, TerminatedError, shortened
from ..estimators import Estimator
from ..training.base import Training
from ..training.batches import ImageData
from ..training.checkpoints import EpochCheckpoints, WholeCheckpoints, damaged, read_checkpoint
from ..training.epochs import EvaluatedAtLast, RateByEpoch, SeededEpochs
from ..training.forgiving import forgiving_loggers
from ..training.pictures import Pictures
from ..training.quiet import quiet
from ..training.record import RunRecord
from ..training.sound_checkpoint import UnsoundError, require_sound_training, require_sound_weights
from ..vaes.config import TrainConfig, known
from ..vaes.options import by_epoch
from .allocator import keep_freed_buffers
from .assembly import data_of, dataset_of, initialised, training_of
from .folder import Run, Which
from .given import Given, configured, given_for
from .interrupt import HeardInterrupts
from .lock import locked
from .loggers import Tracked, ended, logger_of
from .networks import load_vae
from .presence import FolderPresence, require_present
from .processes import check_nodes, check_room, end_with_launcher, is_launched_worker, launching

PICTURED = 50
"""Validation images in a picture of reconstructions."""

LOGGED_EVERY: Final = 50
"""Steps between what callbacks may log of steps; fewer where an epoch has fewer, of which Lightning would warn."""


def train(
    config: TrainConfig | None = None,
    folder: str | Path | None = None,
    progress: bool = True,
    *,
    model: DiscreteVAE | None = None,
    data: Any = None,
    estimator: str | Estimator | None = None,
    callbacks: Sequence[pl.Callback] = (),
    logger: Logger | str | None = None,
    **options: Any,
) -> Run:
    """Trains a VAE and leaves checkpoints, metrics and pictures in a new folder.

    Everything is checked before the folder is made: the data, the solver, and whether the two fit.

    Args:
        config: what to train; default: `TrainConfig` of the options.
        folder: must not hold a run yet; default: in `runs/`, named by the configuration.
        progress: whether to show a bar; in a notebook it is one of a notebook.
        model: networks of one's own, which are trained in place; their options in the configuration
            have no effect.
        data: a name, an .npz file or a folder of images; or images in memory: arrays or tensors
            `[count, height, width]`, `[count, height, width, 3]` or `[count, features]`, uint8 or
            floats in [0, 1], alone or in a pair with labels, a dataset of torch, or a mapping of
            these by split. Splits that are not given are drawn.
        estimator: a name, or an object of one's own.
        callbacks: of Lightning, called beside those of the library; their states travel in the
            checkpoints.
        logger: a name of `TrainConfig.logger`, or an object of Lightning's in the place of
            TensorBoard's.
        **options: fields of `TrainConfig`, in the place of those of `config`; and `batch_size`,
            `binarisation`, `root` and `train_on` of the data.

    Raises:
        ConfigError: an option is unknown, encoder, solver and estimator do not fit, there is no
            such device, or there are more processes than cores or GPUs, or more nodes than a
            launcher has started.
        RunError: the folder holds a run, another process trains in it, it is removed meanwhile, or
            it cannot be written to: a full disk, say.
        TerminatedError: the training was asked to end, by SIGTERM.
        DataError: images are missing or damaged, or two splits share some.
        MissingPackageError: the logger's package is not installed.
        models.NetworkError: networks of one's own do not take the images, or do not give what they
            have to.
        solvers.SolverError: the solver is unknown or its package missing.
    """
    end_with_launcher()
    if isinstance(logger, str):
        options["logger"], logger = logger, None
    config, given = configured(config, model, data, estimator, options)
    _check_lightning(callbacks, logger)
    run = Run.at(Path("runs") / config.title if folder is None else folder)
    dataset = dataset_of(config, given)
    vae = initialised(config, dataset.pixels, given)
    training = training_of(config, vae, given)
    batches = data_of(config, dataset)
    trainer = _trainer(config, run, dataset, training, progress, callbacks, logger)
    if trainer.is_global_zero:
        run.refuse_taken()
    with _alone(config, run):
        if trainer.is_global_zero:
            run.create(config)
            run.remove_leftovers()
            if given.model is not None:
                _save_start(run, training, dataset.pixels)
        _fit(trainer, run, batches, training, checkpoint=None)
    return run


def resume(
    folder: str | Path,
    epochs: int | None = None,
    progress: bool = True,
    start: Which = "last",
    *,
    model: DiscreteVAE | None = None,
    data: Any = None,
    estimator: Estimator | None = None,
    callbacks: Sequence[pl.Callback] = (),
    logger: str | Logger | None = None,
) -> Run:
    """Goes on with a run from its last checkpoint; the result is that of an uninterrupted run.

    What `train` was given as an object is given again, since no file of a run holds it; the weights
    of the networks come from the run.

    Args:
        folder: of the run.
        epochs: a new total; None for the one that the run was started with. What falls over all
            epochs, the learning rate or dropout, takes from there on the course that it has over
            the new total.
        progress: whether to show a bar.
        start: the checkpoint to go on from. Both hold all that a training needs; from the best one,
            the epochs after it are done again.
        model: networks of one's own.
        data: the images of the run, where they are in memory; others are refused.
        estimator: an object of one's own.
        callbacks: of Lightning.
        logger: a name of `TrainConfig.logger`, or an object of Lightning's; default: by the name in
            the configuration.

    Raises:
        ConfigError: there are more processes than cores or GPUs here, or no such device; or what
            was given to `train` is missing or is another.
        DataError: images are missing or damaged, or those of a file are others now.
        RunError: the folder is no run, the run has reached its last epoch, its checkpoint is
            missing or damaged, another process trains in it, or the folder is removed meanwhile or
            cannot be written to.
        TerminatedError: the training was asked to end, by SIGTERM.
    """
    end_with_launcher()
    run = Run.at(folder)
    config = run.config()
    if isinstance(logger, str):
        by_name: dict[str, Any] = {"logger": logger}
        config, logger = replace(config, **by_name), None
    given = given_for(config, model, data, estimator)
    _check_lightning(callbacks, logger)
    with _alone(config, run):
        _continue(run, config, given, epochs, start, progress, callbacks, logger)
    return run


def _alone(config: TrainConfig, run: Run) -> AbstractContextManager[None]:
    """Keeps other trainings out of the folder; the processes of one training share the lock of the first."""
    if is_launched_worker(config.processes * config.nodes):
        return nullcontext()
    return locked(run)


def _continue(
    run: Run,
    config: TrainConfig,
    given: Given,
    epochs: int | None,
    start: Which,
    progress: bool,
    callbacks: Sequence[pl.Callback],
    logger: Logger | None,
) -> None:
    """Train the remaining epochs; the arguments are those of `resume`."""
    folder = run.folder
    checkpoint = _checkpoint_to_go_on_from(run, start)
    done = 0
    if checkpoint:
        if given.model is None:
            load_vae(folder, start)  # refuses weights that do not fit, before any work
        done = read_checkpoint(checkpoint)["epoch"] + 1
    config = config if epochs is None else replace(config, epochs=epochs)
    if done >= config.epochs:
        raise RunError(
            f"{folder} has trained all of its {done} epochs; for more: epochs={2 * done}, or "
            f"structured-vae resume {folder} --epochs {2 * done}"
        )
    dataset = dataset_of(config, given)
    vae = initialised(config, dataset.pixels, given)
    training = training_of(config, vae, given)
    batches = data_of(config, dataset)
    if checkpoint:
        batches.refuse_others(read_checkpoint(checkpoint))
    elif given.model is not None and run.start.exists():
        _load_start(training, run.start)
    trainer = _trainer(config, run, dataset, training, progress, callbacks, logger)
    if checkpoint:
        _refuse_unsound(checkpoint, training, trainer)
    if trainer.is_global_zero:
        run.remove_leftovers()
        run.save_config(config)
    _fit(trainer, run, batches, training, checkpoint)


def _check_lightning(callbacks: Sequence[pl.Callback], logger: Logger | None) -> None:
    """Refuses what Lightning cannot call, before there is a folder.

    Raises:
        ConfigError: there is some.
    """
    if not isinstance(callbacks, Sequence) or not all(
        isinstance(each, pl.Callback) for each in callbacks
    ):
        raise ConfigError(
            f"callbacks must be a list of Lightning's callbacks; got {shortened(callbacks)}"
        )
    if not isinstance(logger, Logger | None):
        raise ConfigError(
            f"logger must be a name or one of Lightning's loggers; got {shortened(logger)}"
        )


def _save_start(run: Run, training: Training, pixels: int) -> None:
    """Networks of one's own begin with weights that no seed of ours makes again.

    Raises:
        RunError: the folder cannot be written to.
    """
    run.checkpoints.mkdir(parents=True, exist_ok=True)
    content = {"epoch": -1, "pixels": pixels, "state_dict": training.state_dict()}
    try:
        WholeCheckpoints().save_checkpoint(content, run.start)
    except OSError as error:
        raise RunError(f"{run.folder} cannot be written to: {error}") from error


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


def _load_start(training: Training, start: Path) -> None:
    """Give networks of one's own the weights that their run began with.

    Raises:
        RunError: the file does not fit the run's configuration.
    """
    weights = read_checkpoint(start)["state_dict"]
    try:
        require_sound_weights(weights, training)
    except UnsoundError as error:
        raise damaged(start, error) from error
    training.load_state_dict(weights)


def _refuse_unsound(checkpoint: Path, training: Training, trainer: pl.Trainer) -> None:
    """Check all that Lightning is going to read, before it does.

    Raises:
        RunError: a value is missing or impossible, or does not fit the run's configuration.
    """
    content = read_checkpoint(checkpoint)
    optimizer = training.configure_optimizers()
    try:
        require_sound_training(content, training, optimizer, trainer.fit_loop.state_dict())
    except UnsoundError as error:
        raise damaged(checkpoint, error) from error


def _trainer(
    config: TrainConfig,
    run: Run,
    dataset: ImageDataset,
    training: Training,
    progress: bool,
    callbacks: Sequence[pl.Callback],
    logger: Logger | None,
) -> pl.Trainer:
    if config.device == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "device is cuda, but torch sees none; use --device cpu, or for a run that goes on the line device: cpu in "
            f"{run.config_file}"
        )
    cuda = config.device != "cpu" and torch.cuda.is_available()
    check_room(config.processes, cuda)
    check_nodes(config.nodes)
    pictured = torch.from_numpy(dataset.validation.images[:PICTURED]) if dataset.shown else None
    size = (dataset.channels, dataset.height, dataset.width)
    ours = [
        HeardInterrupts(),
        FolderPresence(run),
        RunRecord(run.folder, config.to_dict()),
        Pictures(run.pictures, pictured, size, config.seed, config.picture_every),
        EpochCheckpoints(run.checkpoints, training.monitored),
        RateByEpoch(by_epoch(known(config.learning_rate), known(config.rate_decay), config.epochs)),
        EvaluatedAtLast(),
        SeededEpochs(config.seed),
    ]
    if logger is None:
        ours.append(Tracked(config, run))
    if config.patience:
        ours.append(_early_stopping(training, config.patience))
    if progress:
        ours.append(_progress_bar())
    images_a_step = config.data.batch_size * config.processes * config.nodes
    with quiet():
        return pl.Trainer(
            accelerator="cuda" if cuda else "cpu",
            devices=config.processes,
            num_nodes=config.nodes,
            strategy="auto" if config.processes * config.nodes == 1 else DDPStrategy(),
            max_epochs=config.epochs,
            callbacks=[*ours, *callbacks],
            logger=logger_of(config, run) if logger is None else logger,
            plugins=[WholeCheckpoints(run.folder)],
            num_sanity_val_steps=0,
            check_val_every_n_epoch=config.evaluate_every,
            enable_checkpointing=True,
            enable_progress_bar=progress,
            enable_model_summary=False,
            log_every_n_steps=max(1, min(LOGGED_EVERY, len(dataset.train) // images_a_step)),
            use_distributed_sampler=False,
        )


def _early_stopping(training: Training, patience: int) -> pl.Callback:
    """Asked after an evaluation, so that the pictures of the last epoch know that it is the last."""
    return EarlyStopping(
        training.monitored, patience=patience, check_finite=False, check_on_train_epoch_end=False
    )


def _progress_bar() -> pl.Callback:
    """Lightning's other bar knows what a notebook shows."""
    return TQDMProgressBar(10) if "ipykernel" in sys.modules else RichProgressBar(10, leave=True)


def _fit(
    trainer: pl.Trainer,
    run: Run,
    data: ImageData,
    training: Training,
    checkpoint: Path | None,
) -> None:
    again = f"structured-vae resume {run.folder}"
    keep_freed_buffers()
    with (
        quiet(),
        _told_once(),
        _handlers_restored(),
        ended(trainer),
        forgiving_loggers(trainer.loggers),
        _heard(trainer),
        launching(),
        _global_generator_restored(),
    ):
        try:
            trainer.fit(training, data, ckpt_path=checkpoint, weights_only=True)
        except SystemExit as stop:  # Lightning's answer to both signals
            if not trainer.received_sigterm:
                raise KeyboardInterrupt(
                    f"stopped; it goes on from the last whole epoch, if there is one, with: {again}"
                ) from stop
        except OSError as error:
            require_present(run)
            raise RunError(
                f"{run.folder} cannot be written to ({error}). What was saved before is whole; when there is room, "
                f"go on with: {again}"
            ) from error
    if trainer.received_sigterm:
        raise TerminatedError(
            f"training was terminated; it goes on from the last whole epoch, if there is one, with: {again}"
        )


def _heard(trainer: pl.Trainer) -> AbstractContextManager[None]:
    """Listens for interrupts that Python would lose."""
    (callback,) = [
        each for each in getattr(trainer, "callbacks", ()) if isinstance(each, HeardInterrupts)
    ]
    return callback.listening()


@contextmanager
def _global_generator_restored() -> Iterator[None]:
    """Layers such as dropout draw from torch's global generator, which each epoch seeds."""
    devices = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with torch.random.fork_rng(devices=devices):
        yield


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
