"""The interface through which the explorer uses the networks that it shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Final

import torch

from models import CategoricalPotentials, Potentials
from models.potentials import AnyPotentials
from models.states import MOST_BITS

from ..errors import RunError

MOST_LISTED: Final = 1 << 16
"""The maximum number of states of a space that the page lists."""


class Shown(ABC):
    """Trained networks as the explorer shows them: states with their scores, styles and images.

    Attributes:
        bits: whether a state is n bits, rather than one of n categories.
        has_paths: whether single flips lead from any state to any other.
        colours: 3 where images are red, green and blue, else 1.
        has_style: whether there is a continuous style or code beside the state.
        style_size: length of the style; 0 where there is none.
        size: height and width of an image; None where the number of pixels tells it.
        has_estimator: whether an estimator of the training makes the posterior from the scores.
    """

    bits: bool
    has_paths: bool = True
    colours: int = 1
    has_style: bool = False
    style_size: int = 0
    size: tuple[int, int] | None = None
    has_estimator: bool = True

    def __init__(self, n: int, like: torch.Tensor):
        self.n = n
        self.like = like

    @property
    def names(self) -> list[str]:
        """Names of the bits or categories."""
        return [str(i) for i in range(self.n)]

    @abstractmethod
    def score(self, x: torch.Tensor) -> tuple[AnyPotentials, torch.Tensor | None]:
        """Return the potentials of an image `x [1, pixels]`, and its style `[style_size]`."""

    @abstractmethod
    def means(self, z: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        """Return the mean images `[m, pixels]` of states `[m, n]`, styles `[m, style_size]`."""

    def prior_scores(self) -> AnyPotentials:
        """Return the potentials of the prior, one row.

        They are zeros for the uniform prior, and for a prior that has only a density.
        """
        zeros = torch.zeros((1, self.n), dtype=self.like.dtype)
        if self.bits:
            return Potentials(zeros)
        return CategoricalPotentials(zeros)

    def prior_density(self) -> Callable[[torch.Tensor], torch.Tensor] | None:
        """Return the function that gives log p(z) `[m]` of states `[m, n]` of the prior.

        The result is None if `prior_scores` describes the prior.
        """
        return None

    def joint_cost(self, x: torch.Tensor, z: torch.Tensor) -> float | None:
        """Return -log p(x, z) in nats of one image and state; None where it is not known."""
        return None

    def grid(self, rows: int, generator: torch.Generator) -> tuple[torch.Tensor, int] | None:
        """Return images of the prior `[rows * columns, pixels]`, and columns; None for free draws.

        Only a kind whose rows show one style under every category has a grid.
        """
        return None


def require_few_bits(n: int) -> None:
    """Raise if a code has too many bits for enumeration.

    Raises:
        RunError: there are more than `MOST_BITS` bits.
    """
    if n > MOST_BITS:
        raise RunError(f"has {n} bits; the explorer shows up to {MOST_BITS}")


def require_few_states(potentials: AnyPotentials) -> None:
    """Raise if a space has too many states for the page to list.

    Raises:
        RunError: there are more than `MOST_LISTED` states.
    """
    count = potentials.state_count
    if count > MOST_LISTED:
        raise RunError(f"has {count:.3g} states; the explorer lists up to {MOST_LISTED}")
