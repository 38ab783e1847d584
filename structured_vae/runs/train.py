"""Start a training run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
from lightning.pytorch.loggers import Logger

from models import DiscreteVAE

from ..estimators import Estimator
from ..vaes.config import TrainConfig
from .assembly import data_of, dataset_of, initialised, training_of
from .custom_objects import configured
from .folder import Run
from .start import save_start
from .trainer.fit import fit
from .trainer.processes import alone, end_with_launcher
from .trainer.trainer import check_lightning, trainer_of


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
    """Train a VAE; write checkpoints, metrics and pictures into a new folder.

    The data, the solver, and whether the two fit are checked before the folder is made.

    Args:
        config: what to train; default: `TrainConfig` of the options.
        folder: must not hold a run yet; default: in `runs/`, named by the configuration.
        progress: whether to show a bar; a notebook shows its own kind of bar.
        model: custom networks, which are trained in place; their options in the configuration
            have no effect.
        data: a name, an .npz file or a folder of images; or images in memory: arrays or tensors
            `[count, height, width]`, `[count, height, width, 3]` or `[count, features]`, uint8 or
            floats in [0, 1], alone or in a pair with labels, a dataset of torch, or a mapping of
            these by split. Missing splits are drawn.
        estimator: a name, or a custom estimator.
        callbacks: Lightning callbacks, called beside those of the library; the checkpoints hold
            their states.
        logger: a name of `TrainConfig.logger`, or a Lightning logger that replaces TensorBoard's.
        **options: fields of `TrainConfig`, which replace those of `config`; and `batch_size`,
            `binarisation`, `root` and `train_on` of the data.

    Raises:
        ConfigError: an option is unknown, encoder, solver and estimator do not fit together, there
            is no such device, or there are more processes than cores or GPUs, or more nodes than a
            launcher has started.
        RunError: the folder holds a run, another process trains in it, it is removed meanwhile, or
            it cannot be written to, for example because the disk is full.
        TerminatedError: the training was asked to end, by SIGTERM.
        DataError: images are missing or damaged, or two splits share some.
        MissingPackageError: the logger's package is not installed.
        models.errors.NetworkError: custom networks do not accept the images, return a wrong
            output, or get no gradient in the first step.
        solvers.SolverError: the solver is unknown or its package is missing.
    """
    end_with_launcher()
    if isinstance(logger, str):
        options["logger"] = logger
        logger = None
    config, custom = configured(config, model, data, estimator, options)
    check_lightning(callbacks, logger)
    if folder is None:
        folder = Path("runs") / config.title
    run = Run.at(folder)
    dataset = dataset_of(config, custom)
    vae = initialised(config, dataset.pixels, custom)
    training = training_of(config, vae, custom)
    batches = data_of(config, dataset)
    trainer = trainer_of(config, run, dataset, training, progress, callbacks, logger)
    # Only the first process looks: the others might see the folder that it makes.
    if trainer.is_global_zero:
        run.refuse_taken()
    with alone(config, run):
        if trainer.is_global_zero:
            run.create(config)
            run.remove_leftovers()
            # Custom networks are in no file of the configuration, so their first weights are kept.
            if custom.model is not None:
                save_start(run, training, dataset.pixels)
        fit(trainer, run, config, batches, training, checkpoint=None)
    return run
