"""The interface of a kind of VAE, which runs, explorer and reproduction use."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import torch

from models import Pretrained
from models.priors import LearntPrior, PriorOptions

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
"""The number of images in a batch of an evaluation."""


@dataclass(frozen=True, eq=False)
class Question(Generic[Config, VAE]):
    """The request for an evaluation.

    Attributes:
        config: the configuration of the training.
        vae: the model to evaluate.
        dataset: the data set of the training.
        split: the split to evaluate on.
        samples: number of posterior samples per image; None for the kind's default.
        refine: number of moves of a search per image; 0 for no search.
        appearance: whether another network judges decoded images.
        estimator: an estimator object that was passed to the training, or None.
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

    def samples_or(self, default: int) -> int:
        """Return the number of posterior samples per image, or the default of the kind."""
        if self.samples is None:
            return default
        return self.samples

    @property
    def batches(self) -> torch.utils.data.DataLoader[tuple[torch.Tensor, ...]]:
        """Return batches of images and labels of the split, in order."""
        images = self.dataset.split(self.split)
        return batches(images, InOrderBatches(len(images), IMAGES_AT_ONCE))

    @property
    def noise(self) -> torch.Generator:
        """Return a new generator for the samples, the same for the same seed."""
        return generator(self.config.seed, Stream.EVALUATION)


@dataclass(frozen=True, eq=False)
class Coded(Generic[VAE]):
    """The access to the codes of trained networks that fitting another prior needs.

    Attributes:
        fresh: makes a prior from its name and the sizes of its network; None for the prior that
            learns nothing. It raises a SettingError if the prior cannot be over these codes.
        codes: draws the code of each image.
        with_prior: returns the same networks with another prior; raises a ConfigError if they
            cannot have it.
        option: the option of the configuration that names the prior.
    """

    fresh: Callable[[PriorOptions], LearntPrior | None]
    codes: Codes
    with_prior: Callable[[Any], VAE]
    option: str = "prior"


class Kind(ABC, Generic[Config, VAE]):
    """The base of a kind of VAE, which makes its networks, its training and its evaluation.

    Attributes:
        vae: the class of its networks.
        compares_gradients: whether `structured-vae gradients` measures estimators on it.
        why_unweighted: why its evaluation has no importance-weighted bounds; empty if it has them.
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
            KeyError: the weight that determines the size is missing.
        """

    @abstractmethod
    def training(self, config: Config, vae: VAE, estimator: Estimator | None) -> Training:
        """Return the module that Lightning trains.

        Args:
            config: options of the training.
            vae: the networks.
            estimator: an object that replaces the configured estimator, or None.

        Raises:
            ConfigError: encoder, solver and estimator do not fit.
            solvers.SolverError: the solver is unknown or its package missing.
        """

    def labelled(self, config: Config, dataset: ImageDataset) -> torch.Tensor | None:
        """Return the indices `[count]` of the images with labels in training; None for none."""
        return None

    @abstractmethod
    def evaluate(self, question: Question[Config, VAE]) -> Evaluation:
        """Return the evaluation of trained networks on images."""

    def check_evaluation(self, config: Config, refine: int, appearance: bool) -> None:
        """Raise, before any work, if this kind cannot make the requested evaluation.

        Raises:
            ConfigError: this kind does not support an option of the evaluation.
        """
        refuse_refinement(config, refine)
        refuse_appearance(config, appearance)

    def argmaxes(self, config: Config, vae: VAE) -> int:
        """Return the number of argmaxes that a training step solves per image."""
        return 0

    def coded(self, config: Config, vae: VAE) -> Coded[VAE] | None:
        """Return the access to the codes for fitting another prior; None if the prior is fixed."""
        return None

    @abstractmethod
    def shown(self, vae: VAE) -> Shown:
        """Return the view of networks that the explorer shows.

        Raises:
            RunError: the explorer cannot show them; the message says why.
        """


def refuse_refinement(config: TrainConfig, refine: int) -> None:
    """Raise if a search for each image is requested.

    Raises:
        ConfigError: a search is requested.
    """
    if refine:
        raise ConfigError(
            f"the posterior of the model {config.model} cannot be refined; set refine to 0"
        )


def refuse_appearance(config: TrainConfig, appearance: bool) -> None:
    """Raise if another network is requested to judge decoded images.

    Raises:
        ConfigError: judged images are requested.
    """
    if appearance:
        raise ConfigError(
            f"images of the model {config.model} have no attributes that another network could "
            "recognise; leave appearance out"
        )
