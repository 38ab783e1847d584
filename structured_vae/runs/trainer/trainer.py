"""Build the trainer of a run: device, processes, callbacks and logger."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

import lightning.pytorch as pl
import torch
from lightning.pytorch.callbacks import EarlyStopping, RichProgressBar, TQDMProgressBar
from lightning.pytorch.loggers import Logger
from lightning.pytorch.strategies import DDPStrategy

from ...data import ImageDataset
from ...errors import ConfigError, shortened
from ...training.base import Training
from ...training.between_steps import NoProfiler
from ...training.checkpoints import EpochCheckpoints, WholeCheckpoints
from ...training.epochs import EvaluatedAtLast, RateByEpoch, SeededEpochs
from ...training.pictures import Pictures
from ...training.quiet import quiet
from ...training.record import RunRecord
from ...vaes.config import TrainConfig, known
from ...vaes.options import by_epoch
from ..folder import Run
from .interrupt import HeardInterrupts
from .loggers import Tracked, logger_of
from .presence import FolderPresence
from .processes import check_nodes, check_room

PICTURED = 50
"""Number of validation images in a picture of reconstructions."""

LOGGED_EVERY: Final = 50
"""Maximum number of steps between two calls of the logger with values of training steps.

An epoch of fewer steps calls it once, because Lightning would warn that it never does.
"""


def check_lightning(callbacks: Sequence[pl.Callback], logger: Logger | None) -> None:
    """Raise if Lightning cannot call the callbacks or the logger; no folder exists yet.

    Raises:
        ConfigError: one of them is not an object of Lightning.
    """
    if not isinstance(callbacks, Sequence) or not all(
        isinstance(callback, pl.Callback) for callback in callbacks
    ):
        raise ConfigError(
            f"callbacks must be a list of Lightning's callbacks; got {shortened(callbacks)}"
        )
    if not isinstance(logger, Logger | None):
        raise ConfigError(
            f"logger must be a name or one of Lightning's loggers; got {shortened(logger)}"
        )


def trainer_of(
    config: TrainConfig,
    run: Run,
    dataset: ImageDataset,
    training: Training,
    progress: bool,
    callbacks: Sequence[pl.Callback],
    logger: Logger | None,
) -> pl.Trainer:
    """Return the trainer that a configuration asks for.

    Args:
        config: device, processes, epochs and how often to evaluate and draw pictures.
        run: the folder for all files.
        dataset: the source of the validation images in pictures.
        training: tells which metric chooses the best epoch.
        progress: whether to show a bar.
        callbacks: of the caller.
        logger: an object that replaces the logger of the configuration, or None.

    Raises:
        ConfigError: there is no such device, or there are too many processes or nodes.
        MissingPackageError: the logger's package is not installed.
    """
    accelerator = _accelerator(config, run)
    check_room(config.processes, accelerator == "cuda")
    check_nodes(config.nodes)
    ours = _our_callbacks(config, run, dataset, training)
    if logger is None:
        ours.append(Tracked(config, run))
    if config.patience:
        ours.append(_early_stopping(training, config.patience))
    if progress:
        ours.append(_progress_bar())
    images_a_step = config.data.batch_size * config.processes * config.nodes
    strategy: str | DDPStrategy = DDPStrategy()
    if config.processes * config.nodes == 1:
        strategy = "auto"
    with quiet():
        chosen_logger: Logger | bool
        if logger is None:
            chosen_logger = logger_of(config, run)
        else:
            chosen_logger = logger
        return pl.Trainer(
            accelerator=accelerator,
            devices=config.processes,
            num_nodes=config.nodes,
            strategy=strategy,
            max_epochs=config.epochs,
            callbacks=[*ours, *callbacks],
            profiler=NoProfiler(),
            logger=chosen_logger,
            plugins=[WholeCheckpoints(run.folder)],
            num_sanity_val_steps=0,
            check_val_every_n_epoch=config.evaluate_every,
            enable_checkpointing=True,
            enable_progress_bar=progress,
            enable_model_summary=False,
            log_every_n_steps=max(1, min(LOGGED_EVERY, len(dataset.train) // images_a_step)),
            use_distributed_sampler=False,
        )


def _accelerator(config: TrainConfig, run: Run) -> str:
    """Return "cuda" or "cpu".

    Raises:
        ConfigError: the configuration names a GPU, and there is none.
    """
    available = torch.cuda.is_available()
    if config.device == "cuda" and not available:
        raise ConfigError(
            "device is cuda, but torch finds no CUDA device; use --device cpu, or to resume a run, "
            f"write device: cpu in {run.config_file}"
        )
    if config.device == "cpu" or not available:
        return "cpu"
    return "cuda"


def _our_callbacks(
    config: TrainConfig, run: Run, dataset: ImageDataset, training: Training
) -> list[pl.Callback]:
    """Return the callbacks that every training has."""
    pictured = None
    if dataset.shown:
        pictured = torch.from_numpy(dataset.validation.images[:PICTURED])
    size = (dataset.channels, dataset.height, dataset.width)
    return [
        HeardInterrupts(),
        FolderPresence(run),
        RunRecord(run.folder, config.to_dict()),
        Pictures(run.pictures, pictured, size, config.seed, config.picture_every),
        EpochCheckpoints(run.checkpoints, training.monitored),
        RateByEpoch(by_epoch(known(config.learning_rate), known(config.rate_decay), config.epochs)),
        EvaluatedAtLast(),
        SeededEpochs(config.seed),
    ]


def _early_stopping(training: Training, patience: int) -> pl.Callback:
    """Return a callback that stops early, asked after each evaluation.

    The pictures of the last epoch then know that it is the last.
    """
    return EarlyStopping(
        training.monitored, patience=patience, check_finite=False, check_on_train_epoch_end=False
    )


def _progress_bar() -> pl.Callback:
    """Return Lightning's progress bar that works in a notebook."""
    if "ipykernel" in sys.modules:
        return TQDMProgressBar(10)
    return RichProgressBar(10, leave=True)
