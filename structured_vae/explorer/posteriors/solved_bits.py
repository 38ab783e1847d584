"""The posterior of bits with scores, in which solvers and exact sums fill in the free bits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import solvers
from models import Potentials
from models.potentials import AnyPotentials

from ...distributions import Distribution, Gibbs
from .shown_posterior import DRAWS, GIBBS_OF_SCORES, Fixed, Ranked, ShownPosterior


@dataclass(frozen=True, eq=False)
class SolvedBits(ShownPosterior):
    """All states of n bits with probability exp(score) / Z.

    Attributes:
        potentials: one row of scores of bits.
        posterior: makes the posterior of the training from the scores of the free bits.
    """

    potentials: Potentials
    posterior: Callable[[AnyPotentials], Distribution]

    @property
    def density(self) -> str:
        """How the probability of a state follows from its score, in words."""
        if self.posterior(self.potentials).tractable:
            return super().density
        return GIBBS_OF_SCORES

    def ranked(self, fixed: Fixed, count: int) -> Ranked:
        """Return the `count` best states with the fixed bits, with their certificates."""
        h = self.potentials
        best = solvers.solve(
            h.unary[0].double().numpy(),
            *_pairs(h),
            edges=_edges(h),
            fix=dict(fixed),
            k_best=min(count, 2 ** (self._n - len(fixed))),
        )
        scores = np.asarray(best.score, dtype=np.float64)
        free, log_total = reduced(h, fixed)
        if free is not None:
            log_total += float(Gibbs(free).log_partition[0])
        return Ranked(
            np.asarray(best.z, dtype=np.int8),
            scores,
            np.asarray(best.optimal, dtype=bool),
            max(float(np.max(best.bound)), float(scores[0])),
            scores - float(Gibbs(h).log_partition[0]),
            scores - log_total,
        )

    def marginals(
        self, fixed: Fixed, generator: torch.Generator
    ) -> tuple[NDArray[np.float64], str]:
        """Return P(z_i = 1) `[n]` given the fixed bits, of the posterior of the training."""
        probabilities = np.zeros(self._n)
        for i, value in fixed.items():
            probabilities[i] = value
        free, _ = reduced(self.potentials, fixed)
        if free is None:
            return probabilities, "every bit is fixed"
        q = self.posterior(free)
        if not q.tractable:
            drawn = q.sample(generator, DRAWS)[:, 0]
            probabilities[self._free(fixed)] = drawn.double().mean(dim=0).numpy()
            return probabilities, f"perturb-and-MAP, {DRAWS} draws"
        probabilities[self._free(fixed)] = q.marginals[0][0].double().numpy()
        return probabilities, "exact"

    def draws(self, fixed: Fixed, count: int, generator: torch.Generator) -> torch.Tensor:
        """Return exact samples `[count, n]` of the Gibbs distribution with the fixed bits."""
        z = self.potentials.unary.new_zeros((count, self._n))
        for i, value in fixed.items():
            z[:, i] = value
        free, _ = reduced(self.potentials, fixed)
        if free is not None:
            z[:, self._free(fixed)] = Gibbs(free).sample(generator, count)[:, 0]
        return z

    def scores(self, states: torch.Tensor) -> torch.Tensor:
        """Return the scores `[m]` of states `[m, n]`, in float64."""
        return self.potentials.widened(torch.float64).score(states.double()[:, None])[:, 0]

    @property
    def _n(self) -> int:
        return self.potentials.unary.shape[-1]

    def _free(self, fixed: Fixed) -> list[int]:
        """Return the places of the bits without a fixed value."""
        return [i for i in range(self._n) if i not in fixed]


def _pairs(h: Potentials) -> tuple[NDArray[np.float64], ...]:
    """Return the pairwise scores as an argument of `solve`; nothing where there are none."""
    if h.pairwise is None:
        return ()
    return (h.pairwise[0].double().numpy(),)


def _edges(h: Potentials) -> NDArray[Any] | None:
    if h.edges is None:
        return None
    return h.edges.numpy()


def reduced(h: Potentials, fixed: Fixed) -> tuple[Potentials | None, float]:
    """Return the scores of the free bits, or None, and the score of the fixed bits.

    h(z) = constant + h_free(z_free): a fixed bit's pairwise scores are unary ones of its
    neighbours.
    """
    n = h.unary.shape[-1]
    value = torch.tensor([fixed.get(i, 0) for i in range(n)], dtype=h.unary.dtype)
    constant = float(h.score(value[None])[0])
    free = [i for i in range(n) if i not in fixed]
    if not free:
        return None, constant
    unary = h.field(value[None])[:, free]
    if h.pairwise is None or h.edges is None:
        return Potentials(unary), constant
    place = torch.full((n,), -1)
    place[free] = torch.arange(len(free))
    edges = place[h.edges]
    kept = (edges >= 0).all(dim=1)
    if not kept.any():
        return Potentials(unary), constant
    return Potentials(unary, h.pairwise[:, kept], edges[kept]), constant
