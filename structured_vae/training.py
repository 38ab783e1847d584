"""Training runs: start one, resume one."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace
from pathlib import Path

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import RichProgressBar
from lightning.pytorch.loggers import TensorBoardLogger
from lightning.pytorch.strategies import DDPStrategy

from models import AttributeVAE, MixtureVAE, train_mixed

from .attribute_training import AttributeTraining
from .batches import ImageData
from .checkpoints import EpochCheckpoints, WholeCheckpoints, read_checkpoint
from .config import Decay, TrainConfig
from .data import ImageDataset
from .errors import ConfigError, RunError
from .fitting import fitting_estimator, fitting_solver, label_loss_of, posterior_of
from .labelled import balanced_labels, drawn_labels
from .mixture_training import MixtureTraining
from .module import ArgmaxTraining, Training
from .objectives.recipes import RECIPES
from .pictures import Pictures
from .record import RunRecord
from .runs import AnyVAE, Run, dataset_of, load_vae, vae_of
from .schedules import Constant, CosineDecay, Ramp, Schedule
from .seeds import Stream, generator

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
        ConfigError: encoder, solver and estimator do not fit, or there is no such device.
        RunError: the folder holds a run.
        DataError: images are missing or damaged.
        solvers.SolverError: the solver is unknown or its package missing.
    """
    run = Run(Path(folder))
    dataset = dataset_of(config)
    vae = _initialised(config, dataset.pixels)
    training = training_of(config, vae)
    data = data_of(config, dataset)
    trainer = _trainer(config, run, dataset, training, progress)
    if trainer.is_global_zero:
        run.create(config)
    _fit(trainer, run, data, training, checkpoint=None)
    return run


def resume(folder: str | Path, epochs: int | None = None, progress: bool = True) -> Run:
    """Goes on with a run from its last checkpoint; the result is that of an uninterrupted run.

    Args:
        folder: of the run.
        epochs: a new total; None for the one that the run was started with. What falls over all epochs, the learning
            rate or dropout, takes from there on the course that it has over the new total.
        progress: whether to show a bar.

    Raises:
        RunError: the folder is no run, or the run has reached its last epoch.
    """
    run = Run(Path(folder))
    config = run.config()
    last = run.checkpoint("last")
    done = 0
    if last.exists():
        load_vae(folder, "last")  # refuses weights that do not fit, before any work
        done = read_checkpoint(last)["epoch"] + 1
    config = config if epochs is None else replace(config, epochs=epochs)
    if done >= config.epochs:
        raise RunError(
            f"{folder} has trained all of its {done} epochs; for more: "
            f"structured-vae resume {folder} --epochs {2 * done}"
        )
    dataset = dataset_of(config)
    vae = _initialised(config, dataset.pixels)
    training = training_of(config, vae)
    if done:
        _refuse_other_weights(training, last)
    data = data_of(config, dataset)
    trainer = _trainer(config, run, dataset, training, progress)
    if trainer.is_global_zero:
        run.save_config(config)
    _fit(trainer, run, data, training, checkpoint=last if done else None)
    return run


def _initialised(config: TrainConfig, pixels: int) -> AnyVAE:
    seed = generator(config.seed, Stream.INITIALISATION).initial_seed()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return vae_of(config, pixels)


def training_of(config: TrainConfig, vae: AnyVAE) -> Training:
    """What Lightning trains for a configuration.

    Raises:
        ConfigError: encoder, solver and estimator do not fit.
        solvers.SolverError: the solver is unknown or its package missing.
    """
    if config.precision == "bf16-mixed":
        train_mixed(vae)
    solver = fitting_solver(config.solver, vae)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(generator(config.seed, Stream.ESTIMATOR).initial_seed())
        estimator = fitting_estimator(config, vae, solver)
    loss, weight = label_loss_of(config, solver), config.label_weight
    dropout = _by_epoch(config.dropout, config.dropout_decay, config.epochs) if config.dropout else None
    rest = dropout, config.learning_rate, config.seed
    if isinstance(vae, MixtureVAE):
        return MixtureTraining(vae, estimator, loss, weight, *rest)
    if isinstance(vae, AttributeVAE):
        return AttributeTraining(vae, estimator, loss, weight, config.consistency, *rest, solver)
    return ArgmaxTraining(
        vae,
        estimator,
        posterior_of(estimator, solver),
        RECIPES[config.recipe],
        Ramp(config.kl_warmup, config.kl_start),
        *rest,
    )


def data_of(config: TrainConfig, dataset: ImageDataset) -> ImageData:
    """The batches of a configuration, with labelled images where it has some.

    Raises:
        ConfigError: so many labelled images cannot be drawn.
    """
    labelled = _labelled(config, dataset) if config.labels else None
    return ImageData(dataset, config.data.batch_size, config.seed, labelled)


def _labelled(config: TrainConfig, dataset: ImageDataset) -> torch.Tensor:
    classes = dataset.train.labels
    if config.model == "attributes":  # no draw has as many of each
        return drawn_labels(len(classes), config.labels, config.seed)
    for name, split in (("validation", dataset.validation), ("test", dataset.test)):
        if (most := split.labels.max()) >= config.k:
            raise ConfigError(f"a {name} image has the class {most}, and the model has 0 to {config.k - 1}")
    return balanced_labels(classes, config.k, config.labels, config.seed)


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
    pictured = torch.from_numpy(dataset.validation.images[:PICTURED]) if dataset.shown else None
    size = (dataset.channels, dataset.height, dataset.width)
    callbacks = [
        RunRecord(run.folder, config.to_dict()),
        Pictures(run.pictures, pictured, size, config.seed, config.picture_every),
        EpochCheckpoints(run.checkpoints, training.monitored),
        RateByEpoch(_by_epoch(config.learning_rate, config.rate_decay, config.epochs)),
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


def _by_epoch(start: float, decay: Decay, epochs: int) -> Schedule:
    return CosineDecay(start, epochs) if decay == "cosine" else Constant(start)


class RateByEpoch(pl.Callback):
    """Sets the learning rate at the start of each epoch: no state that a resumed run would need.

    Args:
        rate: the learning rate, by the epoch.
    """

    def __init__(self, rate: Schedule):
        self.rate = rate

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Sets it in every group of parameters."""
        for optimizer in trainer.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = self.rate(trainer.current_epoch)


class EvaluatedAtLast(pl.Callback):
    """Sees to it that the last epoch is evaluated, whatever the epochs between evaluations."""

    def on_train_epoch_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Asks for it."""
        if trainer.current_epoch + 1 == trainer.max_epochs:
            trainer.check_val_every_n_epoch = 1


def _fit(
    trainer: pl.Trainer,
    run: Run,
    data: ImageData,
    training: Training,
    checkpoint: Path | None,
) -> None:
    with warnings.catch_warnings():
        # Batches are slices of tensors in memory: worker processes would only add copies.
        warnings.filterwarnings("ignore", message=".*does not have many workers.*")
        warnings.filterwarnings("ignore", message=".*LeafSpec.* is deprecated.*")  # Lightning beside torch
        try:
            trainer.fit(training, data, ckpt_path=checkpoint, weights_only=True)
        except SystemExit as stop:  # Lightning's answer to an interrupt from the keyboard
            raise KeyboardInterrupt from stop
    if trainer.received_sigterm:
        raise RunError(f"training was terminated; go on with: structured-vae resume {run.folder}")
