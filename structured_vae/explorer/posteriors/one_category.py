"""The posterior of one variable of several categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from models.potentials import AnyPotentials

from ...distributions import Gibbs
from .shown_posterior import Fixed, Ranked, ShownPosterior


@dataclass(frozen=True, eq=False)
class OneCategory(ShownPosterior):
    """The categories of one variable; at most one of them is fixed, with the value 1.

    Attributes:
        potentials: one row of scores of the categories.
    """

    potentials: AnyPotentials

    def ranked(self, fixed: Fixed, count: int) -> Ranked:
        """Return the `count` best categories; with a fixed category that one alone."""
        scores = self._scores.numpy()
        order = np.argsort(-scores, kind="stable")[:count]
        log_total = float(self._scores.logsumexp(dim=0))
        log_probability = scores[order] - log_total
        log_given = log_probability
        if fixed:
            order = np.array([next(iter(fixed))])
            log_probability = scores[order] - log_total
            log_given = np.zeros(1)
        return Ranked(
            np.eye(len(scores), dtype=np.int8)[order],
            scores[order],
            np.ones(len(order), bool),
            float(scores[order][0]),
            log_probability,
            log_given,
        )

    def marginals(
        self, fixed: Fixed, generator: torch.Generator
    ) -> tuple[NDArray[np.float64], str]:
        """Return the probabilities `[n]` of the categories, which are exact."""
        if not fixed:
            return self._scores.softmax(dim=0).numpy(), "exact"
        return self._fixed_state(fixed).numpy(), "exact"

    def draws(self, fixed: Fixed, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return samples `[count, n]`, all of them the fixed category if there is one."""
        if fixed:
            return self._fixed_state(fixed).expand(count, -1)
        return Gibbs(self.potentials).sample(generator, count)[:, 0]

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """Return the scores `[m]` of one-hot states `[m, n]`."""
        return states.double() @ self._scores

    def _fixed_state(self, fixed: Fixed) -> torch.Tensor:
        """Return the state `[n]` of the fixed category."""
        state = torch.zeros_like(self._scores)
        state[next(iter(fixed))] = 1
        return state

    @property
    def _scores(self) -> torch.Tensor:
        return self.potentials.unary[0].double()
