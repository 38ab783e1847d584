"""The base classes of priors that are learnt with the networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import nn

from ..errors import SettingError
from ..potentials import AnyPotentials, LatentSpace
from ..shapes import Binary, Costs

Answer = TypeVar("Answer")
"""What `Prior.described` returns."""


class LearntPrior(nn.Module, ABC):
    """A prior p(z) that is learnt with the networks of a VAE.

    Attributes:
        options: the sizes of its network that are not the usual ones, as options of the VAE.
    """

    name: str
    """The name by which a configuration or a stored model makes such a prior."""

    def __init__(self) -> None:
        super().__init__()
        self.options: dict[str, int | str] = {}

    @property
    def arguments(self) -> dict[str, int | str]:
        """The options of the VAE that make such a prior."""
        return {"prior": self.name} | self.options

    @abstractmethod
    def log_prob(self, z: torch.Tensor) -> Costs:
        """Return log p(z) `[...]` of latent variables `z [..., n]` in nats, differentiable."""

    @abstractmethod
    def sample(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return exact samples `[count, n]`, without gradient.

        Args:
            count: number of samples.
            generator: on the device of the prior.
        """

    def described(
        self,
        of_potentials: Callable[[AnyPotentials], Answer],
        of_density: Callable[[LearntPrior], Answer],
    ) -> Answer:
        """Return what one of two functions makes of the prior, by what is known of it.

        Args:
            of_potentials: takes the scores of a Gibbs distribution, one row for all images.
            of_density: takes the prior itself, whose `log_prob` is known.
        """
        return of_density(self)


class Prior(LearntPrior):
    """A learnt prior p(z) over the discrete latent states of a VAE.

    A prior is one of two things, and `described` says which. Either `log_prob` gives the density of
    single states, so that expectations are means over samples. Or the prior is the Gibbs
    distribution of potentials, whose expectation under a posterior with sums is exact: a
    `GibbsPrior`.
    """

    @abstractmethod
    def check(self, n: int, variables: int, categorical: bool) -> None:
        """Raise unless this is a prior over such states.

        Args:
            n: entries of a state.
            variables: number of variables; n for bits.
            categorical: whether the variables are one-hot vectors.

        Raises:
            SettingError: it is over other states.
        """

    def check_space(self, space: LatentSpace) -> None:
        """Raise unless this can be a prior over the states of a space alone.

        Args:
            space: the space.

        Raises:
            SettingError: it is over all states.
        """
        raise SettingError(f"the prior {self.name} is over all states, and not over {space}")

    @abstractmethod
    def sample(
        self, count: int, generator: torch.Generator, space: LatentSpace | None = None
    ) -> Binary:
        """Return exact samples `[count, n]`, without gradient.

        Args:
            count: number of samples.
            generator: on the device of the prior.
            space: the space of the states, where it is not that of all of them.

        Raises:
            SettingError: there are pairwise scores of more than 20 bits.
        """
