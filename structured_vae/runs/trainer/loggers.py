"""Build the logger of a training: Lightning's own loggers, by name."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Final

import lightning.pytorch as pl
from lightning.pytorch.loggers import (
    CSVLogger,
    Logger,
    MLFlowLogger,
    TensorBoardLogger,
    WandbLogger,
)

from ...atomic import whole_file
from ...errors import MissingPackageError, RunError
from ...training.between_steps import BetweenSteps
from ...training.forgiving import Forgiving
from ...vaes.config import TrainConfig
from ..folder import Run
from ..folder.small_files import read_small_text

PROJECT: Final = "structured-vae"

LONGEST_ID: Final = 1000
"""Maximum size in bytes of the id that a logger gives a run."""

LOGGERS: Final[dict[str, Callable[[TrainConfig, Run, str | None], Logger]]] = {
    "tensorboard": lambda config, run, tracked: TensorBoardLogger(
        run.folder, name="tensorboard", version=""
    ),
    "csv": lambda config, run, tracked: CSVLogger(run.folder, name="csv", version=_part(run)),
    "wandb": lambda config, run, tracked: WandbLogger(
        name=config.title, project=PROJECT, save_dir=run.folder, id=tracked, resume="allow"
    ),
    "mlflow": lambda config, run, tracked: MLFlowLogger(
        PROJECT,
        run_name=config.title,
        tracking_uri=f"sqlite:///{run.folder.absolute()}/mlflow.db",
        artifact_location=str(run.folder.absolute() / "mlflow"),
        run_id=tracked,
    ),
}
"""Builders of loggers: (configuration, run, id of an earlier part of the training) -> logger."""


def logger_of(config: TrainConfig, run: Run) -> Logger | bool:
    """Return the logger that a configuration names; False for none.

    Raises:
        MissingPackageError: the logger's package is not installed.
        RunError: the file with the id of an earlier part cannot be read.
    """
    if config.logger == "none":
        return False
    try:
        tracked = None
        if run.tracked.exists():
            tracked = read_small_text(run.tracked, LONGEST_ID)
    except (OSError, ValueError) as error:
        raise RunError(
            f"{run.tracked} is damaged ({error}): delete it, and the logger starts a new run"
        ) from error
    try:
        return LOGGERS[config.logger](config, run, tracked)
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"the logger {config.logger} needs a package that is not installed: pip install "
            f"{config.logger}"
        ) from error


def _part(run: Run) -> str:
    """Return a name for the rows of this part of a training.

    Lightning's logger deletes the rows of an earlier part with the same name.
    """
    folder = run.folder / "csv"
    if not (folder / "metrics.csv").exists():
        return ""
    number = 2
    while (folder / f"part{number}").exists():
        number += 1
    return f"part{number}"


class Tracked(BetweenSteps):
    """Give Weights & Biases and MLflow the configuration, and keep the id of their run.

    A resumed run continues there under the same id.
    """

    def __init__(self, config: TrainConfig, run: Run):
        self.config = config
        self.run = run

    def on_fit_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Send the configuration once per run, on the first process."""
        logger = trainer.logger
        if not trainer.is_global_zero or not isinstance(logger, WandbLogger | MLFlowLogger):
            return
        # A resumed run has the logger's id, and its configuration is sent already.
        if not self.run.tracked.exists():
            logger.log_hyperparams(self.config.to_dict())
            with (
                Forgiving()("keeping the logger's id"),
                whole_file(self.run.tracked, self.run.folder) as unfinished,
            ):
                unfinished.write_text(str(logger.version), encoding="utf-8")


@contextmanager
def ended(trainer: pl.Trainer) -> Iterator[None]:
    """End the Weights & Biases run of a logger by name when the training ends.

    Weights & Biases allows one run per process. A run that the caller opened stays open.
    """
    callbacks = getattr(trainer, "callbacks", ())
    by_name = any(isinstance(callback, Tracked) for callback in callbacks)
    ours = (
        by_name
        and isinstance(trainer.logger, WandbLogger)
        and not _has_a_run(sys.modules.get("wandb"))
    )
    try:
        yield
    finally:
        if ours and "wandb" in sys.modules:
            sys.modules["wandb"].finish()


def _has_a_run(wandb: ModuleType | None) -> bool:
    """Return whether a run is open; Lightning imports the package only when something is logged."""
    return wandb is not None and wandb.run is not None
