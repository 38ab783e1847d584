"""The base classes of priors that are learnt with the networks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TypeVar

import torch

from ..constants import ModuleWithConstants
from ..errors import SettingError
from ..potentials import AnyPotentials, LatentSpace
from ..shapes import Binary, Costs

Answer = TypeVar("Answer")
"""The type of the result of `Prior.described`."""


class LearntPrior(ModuleWithConstants, ABC):
    """A prior p(z) that is learnt with the networks of a VAE.

    Attributes:
        options: the sizes of its network that differ from the defaults, as options of the VAE.
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
        """Call the function that fits the form of the prior, and return its result.

        Args:
            of_potentials: takes the scores of a Gibbs distribution, one row for all images.
            of_density: takes the prior itself, which has `log_prob`.
        """
        return of_density(self)


class Prior(LearntPrior):
    """A learnt prior p(z) over the discrete latent states of a VAE.

    A prior has one of two forms, between which `described` chooses. Either `log_prob` returns the
    density of single states, and expectations are means over samples. Or the prior is a
    `GibbsPrior`, the Gibbs distribution of potentials. Its expectation under a posterior with sums
    is exact.
    """

    @abstractmethod
    def check(self, n: int, variables: int, categorical: bool) -> None:
        """Raise unless this is a prior over states of this form.

        Args:
            n: entries of a state.
            variables: number of variables; n for bits.
            categorical: whether the variables are one-hot vectors.

        Raises:
            SettingError: the prior is over other states.
        """

    def check_space(self, space: LatentSpace) -> None:
        """Raise unless the prior can be restricted to the states of a space.

        Args:
            space: the space.

        Raises:
            SettingError: the prior is over all states.
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
            space: the space of the states; None for all states.

        Raises:
            SettingError: there are pairwise scores of more than 20 bits.
        """
