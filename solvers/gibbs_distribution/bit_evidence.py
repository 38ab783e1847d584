"""Clamp bits to values, and turn sums over the free bits into sums over all bits.

The features are z_i and z_i z_j. Those of all variables are linear in those of the free
variables: phi = A phi_free + constant. A feature z_i z_j with a clamped z_j equals z_j z_i, so A
has at most one entry per row. A lifts the marginals. A and its transpose carry directions and
gradients between all variables and the free ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..arrays import Scores, States
from ..kept import kept
from ..problems.problem import Problem
from ..problems.topology import Topology
from .evidence import Evidence

NEVER = -1000.0
"""Score of the single placeholder variable that remains if all variables are clamped.

Its weight exp(-1000) is zero.
"""


@dataclass(frozen=True, eq=False)
class BitEvidence(Evidence[Problem]):
    """Problem on the host in which evidence clamps some bits.

    The same variables are free in every instance.
    """

    @classmethod
    def none(cls, problem: Problem) -> BitEvidence:
        """Return evidence that leaves all variables of a host problem free."""
        return cls(problem, problem, None, np.zeros(problem.batch))

    @classmethod
    def of(
        cls, problem: Problem, values: States, constant: Scores, rest: Problem | None
    ) -> BitEvidence:
        """Clamp some variables of a problem on the host, as the attributes describe.

        `rest` is None if all variables are clamped.
        """
        if rest is None:
            never = np.full((problem.batch, 1), NEVER)
            alone = Topology(1, np.empty((0, 2), np.int64))
            rest = Problem(never, never[:, :0], alone, problem.leading, problem.home)
        return cls(problem, rest, values, constant)

    @kept
    def _sources(self) -> np.ndarray:
        """Feature of `rest` that gives each feature, `[n + e]`; -1 for a constant."""
        fixed = self.fixed
        number = np.where(fixed, -1, np.cumsum(~fixed) - 1)
        first, second = self.problem.topology.pairs.T
        both = ~fixed[first] & ~fixed[second]
        # z_i z_j with one known end is the other end, or 0; one of the two numbers is -1.
        of_pairs = np.maximum(number[first], number[second])
        of_pairs[both] = self.rest.n + np.arange(int(both.sum()))
        return np.concatenate([number, of_pairs])

    @kept
    def _factors(self) -> np.ndarray:
        """The product of the known values of each feature, `[batch, n + e]`."""
        values = np.asarray(self.values, np.float64)
        ones = np.where(values < 0, 1.0, values)
        first, second = self.problem.topology.pairs.T
        return np.concatenate([ones, ones[:, first] * ones[:, second]], axis=1)

    def lifted(self, marginals: np.ndarray) -> np.ndarray:
        """Return the means `[batch, n + e]` of all features, from those of the free features."""
        if self.values is None:
            return marginals
        means = np.where(self._sources < 0, 1.0, marginals[:, self._sources])
        return self._factors * means

    def spread(self, gradient: np.ndarray) -> np.ndarray:
        """Return a gradient in all scores `[batch, n + e]`, from that in the scores of `rest`."""
        if self.values is None:
            return gradient
        return self._factors * np.where(self._sources < 0, 0.0, gradient[:, self._sources])

    def gathered(self, direction: np.ndarray) -> np.ndarray:
        """Return a direction in the scores of `rest`, from one in all scores `[batch, n + e]`."""
        if self.values is None:
            return direction
        along = np.zeros((self.problem.batch, self.rest.n + self.rest.e))
        varies = self._sources >= 0
        moved = (self._factors * direction)[:, varies]
        np.add.at(along.T, self._sources[varies], moved.T)
        return along
