"""Where the curves of a training go: Lightning's own loggers, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from ..errors import MissingPackageError
from .config import TrainConfig
from .folder import Run

PROJECT: Final = "structured-vae"

LOGGERS: Final[dict[str, Callable[[TrainConfig, Run], Logger]]] = {
    "tensorboard": lambda config, run: TensorBoardLogger(run.folder, name="tensorboard", version=""),
    "csv": lambda config, run: CSVLogger(run.folder, name="csv", version=""),
    "wandb": lambda config, run: WandbLogger(
        name=config.title, project=PROJECT, save_dir=run.folder, config=config.to_dict()
    ),
    "mlflow": lambda config, run: MLFlowLogger(
        PROJECT, run_name=config.title, tracking_uri=f"sqlite:///{run.folder.absolute()}/mlflow.db"
    ),
}


def logger_of(config: TrainConfig, run: Run) -> Logger | bool:
    """The logger that a configuration names; False for none.

    Raises:
        MissingPackageError: its package is not installed.
    """
    if config.logger == "none":
        return False
    try:
        return LOGGERS[config.logger](config, run)
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            f"the logger {config.logger} needs a package that is not installed: pip install {config.logger}"
        ) from error
