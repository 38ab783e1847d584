"""Run folders: what a training leaves behind, and reading it again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import yaml
from torch import Tensor

from models import AttributeVAE, DiscreteVAE, MixtureVAE, paper_vae
from models.attributes import PIXELS

from .atomic import whole_file
from .checkpoints import read_checkpoint
from .config import TrainConfig
from .data import ImageDataset, load_dataset
from .errors import RunError

AnyVAE: TypeAlias = DiscreteVAE | MixtureVAE | AttributeVAE
"""What a configuration can name."""

Which = Literal["best", "last"]


@dataclass(frozen=True)
class Run:
    """The files of one training run.

    Attributes:
        folder: holds config.yaml, checkpoints/, metrics.csv, record.json, pictures/, tensorboard/.
    """

    folder: Path

    @property
    def config_file(self) -> Path:
        """The configuration, as YAML."""
        return self.folder / "config.yaml"

    @property
    def checkpoints(self) -> Path:
        """The folder of `best.ckpt` and `last.ckpt`."""
        return self.folder / "checkpoints"

    @property
    def pictures(self) -> Path:
        """The folder of PNG files."""
        return self.folder / "pictures"

    def checkpoint(self, which: Which) -> Path:
        """The file of the best or the last epoch."""
        return self.checkpoints / f"{which}.ckpt"

    def create(self, config: TrainConfig) -> None:
        """Writes the configuration into a new folder.

        Raises:
            RunError: the folder already holds a run.
        """
        if self.folder.exists() and not self.folder.is_dir():
            raise RunError(f"{self.folder} is a file; name a folder: --run FOLDER")
        if self.config_file.exists():
            raise RunError(
                f"{self.folder} already holds a run. Go on with it: structured-vae resume {self.folder}; "
                "or name another folder: --run FOLDER"
            )
        self.save_config(config)

    def save_config(self, config: TrainConfig) -> None:
        """Writes the configuration.

        Raises:
            RunError: the folder cannot be made or written to.
        """
        try:
            with whole_file(self.config_file) as part:
                part.write_text(yaml.safe_dump(config.to_dict(), sort_keys=False), encoding="utf-8")
        except OSError as error:
            raise RunError(f"{self.folder} cannot be written to: {error}") from error

    def config(self) -> TrainConfig:
        """The configuration of this run.

        Raises:
            RunError: the folder is not a run, or its configuration is damaged.
            ConfigError: the configuration has unknown or impossible values.
        """
        try:
            values = yaml.safe_load(self.config_file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise RunError(f"{self.folder} is not a run folder: it has no config.yaml") from error
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise RunError(f"{self.config_file} is damaged: {error}") from error
        if not isinstance(values, dict):
            raise RunError(f"{self.config_file} is damaged: it does not hold a mapping")
        return TrainConfig.from_dict(values)


def dataset_of(config: TrainConfig) -> ImageDataset:
    """The images that a configuration names."""
    return load_dataset(config.data.name, config.data.root, config.data.binarisation)


def vae_of(config: TrainConfig, pixels: int) -> AnyVAE:
    """The networks that a configuration names; those of attributes have a size of image of their own."""
    if config.model == "attributes":
        return AttributeVAE(config.encoder, n=config.latent, channels=config.channels)
    if config.model == "mixture":
        return MixtureVAE(pixels, config.k)
    return paper_vae(config.encoder, pixels=pixels, n=config.latent, hidden=config.hidden)


def _pixels(config: TrainConfig, weights: dict[str, Tensor]) -> int:
    return PIXELS if config.model == "attributes" else weights["decoder.last.bias"].numel()


def load_vae(folder: str | Path, which: Which = "best") -> AnyVAE:
    """The trained networks of a run, on the host, ready to use.

    Args:
        folder: of the run.
        which: the best epoch on the validation split, or the last one.

    Raises:
        RunError: the folder is not a run or its checkpoint is missing or damaged.
    """
    run = Run(Path(folder))
    config = run.config()
    state = read_checkpoint(run.checkpoint(which)).get("state_dict", {})
    prefix = "vae."  # beside it there is what the estimator has learned
    weights = {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}
    try:
        vae = vae_of(config, _pixels(config, weights))
        vae.load_state_dict(weights)
    except (KeyError, RuntimeError) as error:
        raise RunError(f"{run.checkpoint(which)} does not fit the run's configuration: {error}") from error
    return vae.eval()
