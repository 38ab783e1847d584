"""What runs, explorer and reproduction ask of a kind of VAE."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import torch

from models import Pretrained
from models.priors import LearntPrior

from ..data import ImageDataset
from ..errors import ConfigError
from ..estimators import Estimator
from ..evaluation.quantities import Evaluation
from ..seeds import Stream, generator
from ..training.base import Training
from ..training.batches import InOrderBatches, batches
from ..training.prior_fit import Codes
from .config import TrainConfig
from .shown import Shown

Config = TypeVar("Config", bound=TrainConfig)
VAE = TypeVar("VAE", bound=Pretrained)

IMAGES_AT_ONCE = 100
"""Images in a batch of an evaluation."""


@dataclass(frozen=True, eq=False)
class Question(Generic[Config, VAE]):
    """An evaluation to be made.

    Attributes:
        config: of the training.
        vae: what is evaluated.
        dataset: the images of the training.
        split: which of them.
        samples: posterior samples an image; None for the kind's usual number.
        refine: moves of a search for each image; 0 for none.
        appearance: whether decoded images are judged by another network.
        estimator: an object that the training was given, or None.
        importance: numbers of samples of importance-weighted bounds.
    """

    config: Config
    vae: VAE
    dataset: ImageDataset
    split: str
    samples: int | None = None
    refine: int = 0
    appearance: bool = False
    estimator: Estimator | None = None
    importance: tuple[int, ...] = ()

    @property
    def batches(self) -> torch.utils.data.DataLoader[tuple[torch.Tensor, ...]]:
        """Images and labels of the split, in order."""
        images = self.dataset.split(self.split)
        return batches(images, InOrderBatches(len(images), IMAGES_AT_ONCE))

    @property
    def noise(self) -> torch.Generator:
        """A new generator of the samples, the same for the same seed."""
        return generator(self.config.seed, Stream.EVALUATION)


@dataclass(frozen=True, eq=False)
class Coded(Generic[VAE]):
    """What fitting a prior to the codes of trained networks needs of them.

    Attributes:
        fresh: makes a prior of a name, hidden units and layers, 0 for the usual; None for the one
            that learns nothing. It raises a SettingError for what cannot be over these codes.
        codes: draws the code of each image.
        with_prior: returns the same networks with another prior; raises a ConfigError for a prior
            that they cannot have.
        option: the option of the configuration that names the prior.
    """

    fresh: Callable[[str, int, int], LearntPrior | None]
    codes: Codes
    with_prior: Callable[[Any], VAE]
    option: str = "prior"


class Kind(ABC, Generic[Config, VAE]):
    """One kind of VAE: the object that knows its networks, its training and its evaluation.

    Attributes:
        vae: the class of its networks.
        compares_gradients: whether `structured-vae gradients` measures estimators on it.
        why_unweighted: why its evaluation has no importance-weighted bounds; empty where it has.
    """

    vae: ClassVar[type[Pretrained]]
    compares_gradients: ClassVar[bool] = False
    why_unweighted: ClassVar[str] = "its evaluation does not weigh samples"

    @abstractmethod
    def networks(self, config: Config, pixels: int) -> VAE:
        """Return networks with fresh weights for images of so many pixels."""

    @abstractmethod
    def pixels(self, weights: Mapping[str, torch.Tensor]) -> int:
        """Return the size of the images that trained networks of these weights take.

        Raises:
            KeyError: the weight that tells it is missing.
        """

    @abstractmethod
    def training(self, config: Config, vae: VAE, estimator: Estimator | None) -> Training:
        """Return what Lightning trains.

        Args:
            config: options of the training.
            vae: the networks.
            estimator: an object in the place of the one that the configuration names, or None.

        Raises:
            ConfigError: encoder, solver and estimator do not fit.
            solvers.SolverError: the solver is unknown or its package missing.
        """

    def labelled(self, config: Config, dataset: ImageDataset) -> torch.Tensor | None:
        """Return the places `[count]` of the images with labels in training; None for none."""
        return None

    @abstractmethod
    def evaluate(self, question: Question[Config, VAE]) -> Evaluation:
        """Return all that is known of trained networks on images."""

    def check_evaluation(self, config: Config, refine: int, appearance: bool) -> None:
        """Refuse what this kind's evaluation cannot have, before any work.

        Raises:
            ConfigError: there is some.
        """
        refuse_refinement(config, refine)
        refuse_appearance(config, appearance)

    def argmaxes(self, config: Config, vae: VAE) -> int:
        """Return how many argmaxes a training step solves for an image."""
        return 0

    def coded(self, config: Config, vae: VAE) -> Coded[VAE] | None:
        """Return what fitting another prior needs; None where the prior is part of the model."""
        return None

    @abstractmethod
    def shown(self, vae: VAE) -> Shown:
        """Return what the explorer shows of networks.

        Raises:
            RunError: the explorer cannot show them; the message says why.
        """


def refuse_refinement(config: TrainConfig, refine: int) -> None:
    """Refuse a search for each image.

    Raises:
        ConfigError: it is asked for.
    """
    if refine:
        raise ConfigError(
            f"the posterior of the model {config.model} cannot be refined; set refine to 0"
        )


def refuse_appearance(config: TrainConfig, appearance: bool) -> None:
    """Refuse to have decoded images judged by another network.

    Raises:
        ConfigError: it is asked for.
    """
    if appearance:
        raise ConfigError(
            f"images of the model {config.model} have no attributes that another network could "
            "recognise; leave appearance out"
        )
