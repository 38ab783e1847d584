"""What a training run is made of."""

from __future__ import annotations

from argparse import ArgumentError
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, get_args

from jsonargparse import ArgumentParser

from .errors import ConfigError
from .schedules import ExponentialDecay

Encoder = Literal["independent", "supermodular", "general"]
Recipe = Literal["paper", "elbo"]
Device = Literal["auto", "cpu", "cuda"]


@dataclass(frozen=True)
class DataConfig:
    """The images.

    Attributes:
        name: fashion-mnist-mini (ships with the package), fashion-mnist or mnist.
        root: folder that holds fashion-mnist/ and mnist/; default: the environment variable
            STRUCTURED_VAE_DATA, then a per-user cache filled by download.
        binarisation: threshold (grey > 0.5) or none.
        batch_size: images a step.
    """

    name: str = "fashion-mnist-mini"
    root: str | None = None
    binarisation: str = "threshold"
    batch_size: int = 100


@dataclass(frozen=True)
class TrainConfig:
    """A training run; everything that decides its result is here.

    Attributes:
        encoder: posterior over the bits: independent, supermodular (pairwise scores >= 0) or general.
        solver: argmax backend, see `structured-vae solvers`; auto picks the fastest exact one.
        recipe: paper (KL reported, not trained, as in the released code) or elbo (KL trained too).
        n: binary latent variables.
        hidden: units of the hidden layers.
        data: the images.
        epsilon: step of direct optimization, as it decays over training; the paper starts at 1, which
            learns more slowly.
        learning_rate: of Adam.
        epochs: passes over the training images.
        seed: of initialisation, shuffling and noise.
        picture_every: epochs between pictures; 0 for none. The last epoch always has them.
        device: auto, cpu or cuda.
    """

    encoder: Encoder = "general"
    solver: str = "auto"
    recipe: Recipe = "paper"
    n: int = 15
    hidden: int = 300
    data: DataConfig = field(default_factory=DataConfig)
    epsilon: ExponentialDecay = field(default_factory=lambda: ExponentialDecay(start=0.1))
    learning_rate: float = 1e-3
    epochs: int = 30
    seed: int = 0
    picture_every: int = 10
    device: Device = "auto"

    def __post_init__(self) -> None:
        for name, choices in (("encoder", Encoder), ("recipe", Recipe), ("device", Device)):
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise ConfigError(f"{name} must be one of {known}; got '{getattr(self, name)}'")
        smallest = {"n": 1, "hidden": 1, "epochs": 1, "seed": 0, "picture_every": 0}
        for name, least in smallest.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{name} must be at least {least}; got {getattr(self, name)}")
        if self.data.batch_size < 1:
            raise ConfigError(f"data.batch_size must be at least 1; got {self.data.batch_size}")
        if not self.learning_rate > 0:
            raise ConfigError(f"learning_rate must be positive; got {self.learning_rate}")

    @property
    def title(self) -> str:
        """A name for the run's folder."""
        return f"{self.data.name}-{self.encoder}-{self.solver}-{self.recipe}-seed{self.seed}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, nested as the attributes are."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """The inverse of `to_dict`, with every key and every type checked.

        Raises:
            ConfigError: a key is unknown or missing, or a value impossible.
        """
        missing = sorted({field.name for field in fields(cls)} - set(values))
        if missing:
            raise ConfigError(f"not a training configuration: it lacks {', '.join(missing)}")
        for part in ("data", "epsilon"):
            if not isinstance(values[part], dict):
                raise ConfigError(
                    f"not a training configuration: {part} must be a mapping; got {values[part]!r}"
                )
        parser = ArgumentParser(exit_on_error=False)
        parser.add_class_arguments(cls, as_group=False)
        try:
            chosen = parser.instantiate(parser.parse_object(values))
        except (ArgumentError, TypeError) as error:
            raise ConfigError(f"not a training configuration: {error}") from error
        return cls(**{field.name: chosen[field.name] for field in fields(cls)})
