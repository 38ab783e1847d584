"""Clamp bits to values, and turn sums over the free bits into sums over all bits.

The features are z_i and z_i z_j. Those of all variables are linear in those of the free
variables: phi = A phi_free + constant. A feature z_i z_j with a clamped z_j equals z_j z_i, so A
has at most one entry per row. A lifts the marginals. A and its transpose carry directions and
gradients between all variables and the free ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..arrays import Scores, States
from ..kept import kept
from ..problems.problem import Problem
from ..problems.topology import Topology
from .evidence import Evidence

NEVER = -1000.0
"""Score of a variable of `rest` in an instance that clamps it: its weight exp(-1000) is zero.

The variable has no pairs there, and a 0 that evidence replaces by its value.
"""


@dataclass(frozen=True, eq=False)
class BitEvidence(Evidence[Problem]):
    """Problem on the host in which evidence clamps some bits."""

    @classmethod
    def of(
        cls, problem: Problem, values: States, constant: Scores, rest: Problem | None
    ) -> BitEvidence:
        """Clamp some variables of a problem on the host, as the attributes describe.

        Args:
            problem: the problem of all variables.
            values: `[batch, n]`, -1 for a free variable.
            constant: `[batch]`, the score of the known values.
            rest: the problem of the variables that are free in some instance. It has no scores of
                a variable in the instances that clamp it. None if all variables are clamped.
        """
        is_known = values >= 0
        if rest is None:
            never = np.full((problem.batch, 1), NEVER)
            alone = Topology(1, np.empty((0, 2), np.int64))
            rest = Problem(never, never[:, :0], alone, problem.leading, problem.home)
        elif (is_known != is_known[:1]).any():
            unary = np.where(is_known[:, ~is_known.all(axis=0)], NEVER, rest.unary)
            rest = replace(rest, unary=unary)
        return cls(problem, rest, values, constant)

    @kept
    def _sources(self) -> np.ndarray:
        """Feature of `rest` that gives each feature; -1 for a constant.

        It is `[batch, n + e]`, or `[1, n + e]` if all instances know the same variables.
        """
        is_known: np.ndarray = np.asarray(self.values) >= 0
        if (is_known == is_known[:1]).all():
            is_known = is_known[:1]
        first, second = self.problem.topology.pairs.T
        stays = np.asarray((~is_known).any(axis=0))
        number = np.where(is_known, -1, np.cumsum(stays) - 1)
        pair_number = np.cumsum(stays[first] & stays[second]) - 1
        # z_i z_j with one known end is the other end, or 0; one of the two numbers is -1.
        of_pairs = np.maximum(number[:, first], number[:, second])
        both = ~is_known[:, first] & ~is_known[:, second]
        of_pairs = np.where(both, self.rest.n + pair_number, of_pairs)
        return np.concatenate([number, of_pairs], axis=1)

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
        means: np.ndarray = self._factors * self._of_sources(marginals, 1.0)
        return means

    def spread(self, gradient: np.ndarray) -> np.ndarray:
        """Return a gradient in all scores `[batch, n + e]`, from that in the scores of `rest`."""
        if self.values is None:
            return gradient
        whole: np.ndarray = self._factors * self._of_sources(gradient, 0.0)
        return whole

    def _of_sources(self, features: np.ndarray, constant: float) -> np.ndarray:
        """Return `[batch, n + e]` from the features of `rest`, and a number for constants."""
        by_feature = np.take_along_axis(features, np.maximum(self._sources, 0), axis=1)
        return np.where(self._sources < 0, constant, by_feature)

    def gathered(self, direction: np.ndarray) -> np.ndarray:
        """Return a direction in the scores of `rest`, from one in all scores `[batch, n + e]`."""
        if self.values is None:
            return direction
        along = np.zeros((self.problem.batch, self.rest.n + self.rest.e))
        sources = np.broadcast_to(self._sources, direction.shape)
        instances, features = np.nonzero(sources >= 0)
        moved = (self._factors * direction)[instances, features]
        np.add.at(along, (instances, sources[instances, features]), moved)
        return along
