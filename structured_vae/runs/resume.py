"""Resume a training run from a checkpoint."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.loggers import Logger

from models import DiscreteVAE

from ..errors import RunError
from ..estimators import Estimator
from ..training.base import Training
from ..training.checkpoints import damaged, read_checkpoint
from ..training.sound_checkpoint import UnfitError, UnsoundError, require_sound_training
from ..vaes.config import TrainConfig
from .assembly import data_of, dataset_of, initialised, training_of
from .custom_objects import CustomObjects, custom_objects_for
from .folder import Run, Which
from .folder.run import objects_of
from .networks import load_vae
from .start import load_start
from .trainer.fit import fit
from .trainer.processes import alone, end_with_launcher
from .trainer.trainer import check_lightning, trainer_of

OTHER: dict[Which, Which] = {"last": "best", "best": "last"}
"""The other checkpoint of a run."""


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
    """Resume a run from its last checkpoint; the result equals that of an uninterrupted run.

    Pass again each object that `train` was passed, since no file of a run holds it. The weights of
    the networks come from the run.

    Args:
        folder: the run's folder.
        epochs: a new total; None for the total that the run was started with. A schedule over all
            epochs, such as that of the learning rate or dropout, then follows the new total.
        progress: whether to show a bar.
        start: the checkpoint to resume from. Both hold all that a training needs; from the best
            one, the epochs after it run again.
        model: custom networks.
        data: the images of the run, if they are in memory; other images raise an error.
        estimator: a custom estimator.
        callbacks: Lightning callbacks.
        logger: a name of `TrainConfig.logger`, or a Lightning logger; default: the name in the
            configuration.

    Raises:
        ConfigError: there are more processes than cores or GPUs here, or no such device; or an
            object that was passed to `train` is missing or differs.
        DataError: images are missing or damaged, or the images of a file have changed.
        RunError: the folder is not a run, the run has reached its last epoch, its checkpoint is
            missing, damaged or of other networks, another process trains in it, or the folder is
            removed meanwhile or cannot be written to.
        TerminatedError: the training was asked to end, by SIGTERM.
    """
    end_with_launcher()
    run = Run.at(folder)
    config = run.config()
    if isinstance(logger, str):
        by_name: dict[str, Any] = {"logger": logger}
        config = replace(config, **by_name)
        logger = None
    custom = custom_objects_for(config, model, data, estimator)
    check_lightning(callbacks, logger)
    with alone(config, run):
        _continue(run, config, custom, epochs, start, progress, callbacks, logger)
    return run


def _continue(
    run: Run,
    config: TrainConfig,
    custom: CustomObjects,
    epochs: int | None,
    start: Which,
    progress: bool,
    callbacks: Sequence[pl.Callback],
    logger: Logger | None,
) -> None:
    """Train the remaining epochs; the arguments are those of `resume`."""
    folder = run.folder
    checkpoint = _checkpoint_to_go_on_from(run, config, start)
    instead = run.instead_of(start, config)
    done = 0
    if checkpoint:
        if custom.model is None:
            load_vae(folder, start)  # refuses weights that do not fit, before any work
        done = read_checkpoint(checkpoint, instead=instead)["epoch"] + 1
    if epochs is not None:
        config = replace(config, epochs=epochs)
    if done >= config.epochs:
        raise RunError(
            f"{folder} has trained all of its {done} epochs; for more: "
            f"{run.how_to_resume(config, epochs=2 * done)}"
        )
    dataset = dataset_of(config, custom)
    vae = initialised(config, dataset.pixels, custom)
    training = training_of(config, vae, custom)
    batches = data_of(config, dataset)
    # Other batches would make another run than the one that was interrupted.
    if checkpoint:
        batches.refuse_others(read_checkpoint(checkpoint))
    elif custom.model is not None and run.start.exists():
        load_start(training, run, config)
    trainer = trainer_of(config, run, dataset, training, progress, callbacks, logger)
    # A checkpoint that is refused has to leave the folder as it is.
    if checkpoint:
        _refuse_unsound(checkpoint, run, config, training, trainer, instead)
    if trainer.is_global_zero:
        run.remove_leftovers()
        run.save_config(config)
    fit(trainer, run, config, batches, training, checkpoint)


def _checkpoint_to_go_on_from(run: Run, config: TrainConfig, start: Which) -> Path | None:
    """Return the checkpoint to resume from.

    None means that the run was stopped in its first epoch and has nothing to lose.

    Raises:
        RunError: there is no checkpoint, though the run has trained for longer.
    """
    checkpoint = run.checkpoint(start)
    other = run.checkpoint(OTHER[start])
    if checkpoint.exists():
        return checkpoint
    if other.exists():
        resumption = run.how_to_resume(config, start=OTHER[start])
        raise RunError(
            f"{checkpoint} does not exist. The run does not start again, since that would replace "
            f"{other.name}. Resume from that checkpoint: {resumption}"
        )
    if (recorded := run.recorded_epochs()) > 1:
        again = f"structured-vae train --config {shlex.quote(str(run.config_file))} --run FOLDER"
        if objects_of(config):
            again = "structured_vae.train(folder=..., ...)"
        raise RunError(
            f"{run.checkpoints} holds no checkpoint. The run does not start again, since that "
            f"would replace the metrics of {recorded} epochs. Put last.ckpt or best.ckpt back, or "
            f"train in another folder: {again}"
        )
    return None


def _refuse_unsound(
    checkpoint: Path,
    run: Run,
    config: TrainConfig,
    training: Training,
    trainer: pl.Trainer,
    instead: str,
) -> None:
    """Check every value that Lightning is going to read, before Lightning reads it.

    Args:
        checkpoint: the file.
        run: its run.
        config: the configuration of the run.
        training: the training that resumes.
        trainer: a new trainer.
        instead: the command or call that uses the other checkpoint.

    Raises:
        RunError: a value is missing or impossible, or does not fit the run's configuration.
    """
    content = read_checkpoint(checkpoint)
    optimizer = training.configure_optimizers()
    try:
        require_sound_training(content, training, optimizer, trainer.fit_loop.state_dict())
    except UnfitError as error:
        if config.from_python:
            raise run.of_other_networks(config, error) from error
        raise damaged(checkpoint, error, instead) from error
    except UnsoundError as error:
        raise damaged(checkpoint, error, instead) from error
