"""The linear program over cliques of pairs that exclude each other, with bounds in whole numbers.

    max sum_i g_i x_i,  where sum_(i in C) x_i <= 1 for each clique C, and 0 <= x <= 1.

HiGHS solves it in floating point. Its multipliers y_C >= 0, rounded to whole numbers, give a bound
that is exact: for chosen variables S and free variables F,

    bound = sum_C y_C + sum_(i in S) r_i + sum_(i in F) max(0, r_i),  r_i = g_i - sum_(C with i) y_C.

References:
    Grötschel, Lovász, Schrijver (1988), Geometric algorithms and combinatorial optimization, ch. 9.
"""

from __future__ import annotations

import numpy as np

from ...limits.deadline import Deadline
from ..simplex import simplex_of

VIOLATED = 1e-4
"""Least violation of a clique inequality that is added."""

POSITIVE = 1e-6
"""Value above which a variable counts as positive, and distance from 0 and 1 of a fraction."""

DEGREE_SHARE = 1e-4
"""Weight of the number of neighbours beside values, where a clique grows."""

SLICE = 0.1
"""Seconds of the simplex method between two looks at the deadline."""

LARGEST = 2.0**58
"""Sum of multipliers up to which sums of whole numbers stay below 2^63."""

FREE = -1
"""Status of a variable that is neither chosen (1) nor left out (0)."""


class CliqueProgram:
    """A linear program over a growing set of cliques.

    Attributes:
        x: `[n]`, the last optimum.
    """

    def __init__(self, gains: np.ndarray, adjacent: np.ndarray):
        """Build the program without cliques.

        Args:
            gains: `[n]`, whole: how much each variable adds at most.
            adjacent: `[n, n]` bool, whether two variables exclude each other.
        """
        self._module, self._highs, self._unit = simplex_of(gains)
        self._gains = gains
        self._adjacent = adjacent
        self._cliques: dict[tuple[int, ...], None] = {}
        self._members = np.empty(0, np.int64)
        self._sizes = np.empty(0, np.int64)
        self.x = (gains > 0).astype(np.float64)

    def fix(self, status: np.ndarray) -> None:
        """Fix the variables `[n]` that are chosen or left out, and no others."""
        low = (status == 1).astype(np.float64)
        high = (status != 0).astype(np.float64)
        self._highs.changeColsBounds(len(low), np.arange(len(low), dtype=np.int32), low, high)

    def solve(self, deadline: Deadline) -> bool:
        """Solve the program; return False after the deadline or a failure of the simplex."""
        codes = self._module.HighsModelStatus
        status = None
        while status in (None, codes.kTimeLimit):
            if deadline.passed:
                return False
            until = self._highs.getRunTime() + min(SLICE, deadline.left)
            self._highs.setOptionValue("time_limit", until)
            self._highs.run()
            status = self._highs.getModelStatus()
        if status != codes.kOptimal:
            return False
        self.x = np.array(self._highs.getSolution().col_value)
        return True

    def bound(self, status: np.ndarray) -> int | None:
        """Return a bound on the gains of a node, from the multipliers of the last `solve`.

        It is None if that ended without multipliers, or if they are too large. Those of a program
        that the deadline cut off give a bound, too, since any multipliers do.

        Args:
            status: `[n]`, 1 for a chosen variable, 0 for one that is left out, else `FREE`.
        """
        solution = self._highs.getSolution()
        if not solution.dual_valid:
            return None
        multipliers = -np.array(solution.row_dual) * self._unit
        multipliers = np.floor(np.maximum(multipliers, 0.0))
        if not multipliers.sum() < LARGEST:
            return None
        weights = multipliers.astype(np.int64)
        rest = self._gains.copy()
        np.subtract.at(rest, self._members, np.repeat(weights, self._sizes))
        chosen = rest[status == 1].sum()
        return int(weights.sum() + chosen + np.maximum(rest[status == FREE], 0).sum())

    def add_cliques(self, deadline: Deadline) -> bool:
        """Add cliques that the last optimum violates; return whether there were any."""
        new: dict[tuple[int, ...], None] = {}
        for seed in np.flatnonzero(self.x > POSITIVE).tolist():
            if deadline.passed:
                break
            clique = self._clique_around(seed)
            if clique not in self._cliques and self.x[list(clique)].sum() > 1.0 + VIOLATED:
                new[clique] = None
        if not new:
            return False
        self._cliques |= new
        sizes = np.array([len(clique) for clique in new])
        members = np.concatenate([np.array(clique) for clique in new])
        self._highs.addRows(
            len(new),
            np.full(len(new), -np.inf),
            np.ones(len(new)),
            len(members),
            (np.cumsum(sizes) - sizes).astype(np.int32),
            members.astype(np.int32),
            np.ones(len(members)),
        )
        self._members = np.concatenate((self._members, members))
        self._sizes = np.concatenate((self._sizes, sizes))
        return True

    def _clique_around(self, seed: int) -> tuple[int, ...]:
        """Return a maximal clique with a variable, whose other members are large at the optimum."""
        clique = [seed]
        common = np.flatnonzero(self._adjacent[seed])
        while len(common):
            # Of equal ones, a member with many neighbours among the others leaves more room.
            degree = self._adjacent[np.ix_(common, common)].sum(axis=1)
            member = int(common[np.argmax(self.x[common] + DEGREE_SHARE * degree / len(self.x))])
            clique.append(member)
            common = common[self._adjacent[member, common]]
        return tuple(sorted(clique))
