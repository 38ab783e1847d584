"""Rank all states of a space with some fixed bits, from a list of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from models.potentials import AnyPotentials

from ..errors import RunError


@dataclass(frozen=True, eq=False)
class ListedStates:
    """The states that have the fixed bits, with their probabilities under exp(score) / Z.

    Attributes:
        states: `[m, n]`, by falling score.
        scores: `[m]`.
        log_z: log Z over all states of the space.
        log_given: the same over the states with the fixed bits.
    """

    states: torch.Tensor
    scores: torch.Tensor
    log_z: float
    log_given: float

    @classmethod
    def of(cls, potentials: AnyPotentials, fixed: Mapping[int, int]) -> ListedStates:
        """Return the states of one row of potentials that have the fixed bits.

        Raises:
            RunError: no state has them.
        """
        states = potentials.states().double()
        scores = potentials.table(states.to(potentials.unary))[0].double()
        log_z = float(scores.logsumexp(dim=0))
        kept = torch.ones(len(states), dtype=torch.bool)
        for i, value in fixed.items():
            kept &= states[:, i] == value
        if not bool(kept.any()):
            raise RunError(f"no state has all of these bits: {dict(fixed)}; free one of them")
        states = states[kept]
        scores = scores[kept]
        order = scores.argsort(descending=True, stable=True)
        return cls(states[order], scores[order], log_z, float(scores.logsumexp(dim=0)))

    @property
    def marginals(self) -> torch.Tensor:
        """Return P(z_i = 1) `[n]` given the fixed bits."""
        return self.scores.softmax(dim=0) @ self.states

    def draw(self, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return `[count, n]`: independent draws given the fixed bits."""
        probabilities = self.scores.softmax(dim=0)
        places = torch.multinomial(probabilities, count, replacement=True, generator=generator)
        return self.states[places]
