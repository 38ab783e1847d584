"""The interface through which the page asks for the states of one image with some fixed bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

Fixed: TypeAlias = Mapping[int, int]
"""The bits that keep a value; for categories at most one, with the value 1."""

DRAWS: Final = 2000
"""Samples of a perturb-and-MAP posterior, for marginals with an error of about 0.01."""

GIBBS_OF_SCORES: Final = (
    "exp(score) / Z, the Gibbs distribution of the scores; those of perturb-and-MAP are not known"
)
"""How the probability of a state follows from its score where the posterior is another one."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The best states with the fixed bits, in order.

    Attributes:
        states: `[m, n]`.
        scores: `[m]`.
        optimal: `[m]`, whether each state is certified optimal: no remaining state scores more.
        bound: an upper bound on the score of every state with the fixed bits; None where no bound
            is certified.
        log_probability: `[m]`, the log of the probability among all states, in nats.
        log_given: `[m]`, the same among the states with the fixed bits.
        note: how the best state was obtained, in words, where it is not certified; else empty.
    """

    states: NDArray[np.int8]
    scores: NDArray[np.float64]
    optimal: NDArray[np.bool_]
    bound: float | None
    log_probability: NDArray[np.float64]
    log_given: NDArray[np.float64]
    note: str = ""


class ShownPosterior(ABC):
    """The states of one image, or of the prior, with their scores and probabilities.

    Attributes:
        couplings: what pairwise scores mean, in words.
    """

    couplings: ClassVar[str] = (
        "Pairwise scores of this image: red pairs favour being 1 together, blue pairs avoid it."
    )

    @property
    def density(self) -> str:
        """How the probability of a state follows from its score, in words."""
        return "exp(score) / Z"

    @abstractmethod
    def ranked(self, fixed: Fixed, count: int) -> Ranked:
        """Return the `count` best states with the fixed bits, or all if there are fewer.

        Raises:
            RunError: no state has the fixed bits.
        """

    @abstractmethod
    def marginals(
        self, fixed: Fixed, generator: torch.Generator
    ) -> tuple[NDArray[np.float64], str]:
        """Return P(z_i = 1) `[n]` given the fixed bits, and how it was computed.

        Raises:
            RunError: no state has the fixed bits.
        """

    @abstractmethod
    def draws(self, fixed: Fixed, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return exact, independent samples `[count, n]` with the fixed bits.

        Raises:
            RunError: no state has the fixed bits.
        """

    @abstractmethod
    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """Return the scores `[m]` of states `[m, n]`, in float64."""
