"""Find the best state with a given number of ones in a group, by searches without constraints.

For all s and t, the sum s c + t c (c - 1) / 2 is the same number for every state with c = k ones in
the group. So no such state scores more than the maximum of score + s c + t c (c - 1) / 2 over all
states, minus that number. That maximum is a problem of the same kind. With t = -2 mu and
s = lambda + mu (2k - 1) it is score + lambda (c - k) - mu (c - k)^2. The last term is concave, so
it does not weaken the bound, and it keeps the relaxation near c = k. Where its maximiser has k
ones, it is the best state with k ones. Otherwise lambda moves against the difference and mu doubles
(the method of multipliers).

All numbers are whole, so that only the scores are rounded, once; s and t may be any whole numbers.

References:
    Hestenes (1969), Multiplier and gradient methods.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import home_of
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problems.problem import Problem
from ...problems.topology import Topology
from ..local_search.tabu import STARTS, TabuSearch
from ..precision.units import Units, to_units
from .search import matrix_of, score_of, search_dense

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int

BISECTIONS = 12
"""Bisections of the interval of the first lambda, decided by tabu search."""

BITS = 53
"""Sums of whole numbers stay below 2^BITS."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Instance of a dense problem, with a group of variables whose ones are counted.

    Attributes:
        units: the units of the scores.
        unary: `[n]`, whole numbers.
        matrix: `[n, n]`, pairwise scores in whole numbers, symmetric.
        topology: all pairs of variables.
        group: `[n]`, whether a variable belongs to the group.
        inside: `[e]`, whether both ends of a pair belong to the group.
    """

    units: Units
    unary: Float[np.ndarray, "n"]
    matrix: Float[np.ndarray, "n n"]
    topology: Topology
    group: Bool[np.ndarray, "n"]
    inside: Bool[np.ndarray, "e"]

    @classmethod
    def of(cls, problem: Problem, group: np.ndarray) -> Counted:
        """Build it from a single instance on the host."""
        n = problem.n
        edges = problem.topology.pairs
        units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
        matrix = matrix_of(n, units.values[n:], edges)
        pairs = np.stack(np.triu_indices(n, 1), axis=1)
        inside = np.asarray(group[pairs].all(axis=1))
        return cls(units, units.values[:n], matrix, Topology(n, pairs), group, inside)

    @property
    def weights(self) -> Int[np.ndarray, "e"]:
        """The weights `[e]` of all pairs."""
        pairs = self.topology.pairs
        return np.asarray(self.matrix[pairs[:, 0], pairs[:, 1]])

    def count(self, z: np.ndarray) -> int:
        """Count the ones of a state `[n]` in the group."""
        return int(z[self.group].sum())

    def searched(
        self, s: int, t: int, k: int, deadline: Deadline, start: np.ndarray | None = None
    ) -> tuple[np.ndarray, float]:
        """Search with these terms; return a good state and a bound on states with k ones.

        The state is the best one that the search reaches in time.
        """
        problem, s, t, coarse, error = self._with_terms(s, t)
        # States and bounds of the problem with terms are not news of this problem.
        silent = deadline.within_whole(problem, lambda _: Known(None))
        z, bound, _ = search_dense(problem, silent, start)
        # Fractions are exact: s k may be much larger than the score that is left.
        exact = Fraction(bound) + Fraction(error) - s * k - t * (k * (k - 1) // 2)
        units = self.units._replace(exponent=self.units.exponent + coarse)
        if error:
            highest = math.nextafter(float(exact), math.inf)
        else:
            highest = float(exact)
        return z, units.upper_bound(highest)

    def _with_terms(self, s: int, t: int) -> tuple[Problem[np.ndarray], int, int, int, float]:
        """Return the problem with s c + t c (c - 1) / 2 added, s, t, `coarse` and an error.

        The problem, s and t are in units 2^coarse times as large. The error says, in these units,
        by how much the true score can exceed the score of the problem.
        """
        # No sum of terms exceeds `total`; in units of 2^coarse
        # it has at most BITS bits, so sums are exact.
        values = np.concatenate((self.unary, self.weights))
        total = (
            float(np.abs(values).sum())
            + abs(s) * int(self.group.sum())
            + abs(t) * int(self.inside.sum())
        )
        coarse = max(0, math.frexp(total * (1.0 + 1e-9))[1] - BITS)
        # Any s and t give a valid bound, so their rounding costs tightness, never truth.
        s = round(Fraction(s, 1 << coarse))
        t = round(Fraction(t, 1 << coarse))
        exact = np.ldexp(values, -coarse)
        rounded = np.rint(exact)
        # Rounding lowers the score of a state by at most the sum of the positive differences.
        more = float(np.maximum(exact - rounded, 0.0).sum()) * (1.0 + 1e-9)
        terms = np.concatenate(
            (np.where(self.group, float(s), 0.0), np.where(self.inside, float(t), 0.0))
        )
        unary, pairwise = np.split(rounded + terms, [len(self.unary)])
        problem = Problem(unary[None], pairwise[None], self.topology, (1,), home_of(unary))
        return problem, s, t, coarse, more + math.ldexp(self.units.error, -coarse)

    def repaired(self, z: np.ndarray, k: int) -> np.ndarray:
        """Return a state `[n]` with k ones, by the flips that lose least."""
        z = z.copy()
        field = self.unary + self.matrix @ z
        while (missing := k - self.count(z)) != 0:
            flipped_value = 1
            if missing > 0:
                flipped_value = 0
            able = self.group & (z == flipped_value)
            i = int(np.argmax(np.where(able, (1 - 2 * z) * field, -np.inf)))
            field += (1 - 2 * z[i]) * self.matrix[i]
            z[i] ^= 1
        return z

    def score(self, z: np.ndarray) -> float:
        """Return the score of a state `[n]`, in units."""
        return score_of(self.unary, self.matrix, z)

    def multiplier(self, k: int, deadline: Deadline) -> tuple[int, np.ndarray]:
        """Return a lambda at which states with k ones are among the best, and one of these."""
        # At lambda = -reach no variable of the group
        # gains by being 1, and at +reach none by being 0.
        reach = int((np.abs(self.unary) + np.abs(self.matrix).sum(axis=0)).max())
        low = -reach
        high = reach
        lam = 0
        best = self.repaired(np.zeros(len(self.unary), np.int8), k)
        for _ in range(BISECTIONS):
            lam = (low + high) // 2
            problem, *_ = self._with_terms(lam, 0)
            # Every lambda gives a valid bound, so a heuristic state may decide.
            arrays = problem.unary, problem.pairwise, problem.topology.pairs
            z = TabuSearch(*arrays, threads=1).run(STARTS, deadline)[0]
            best = max(best, self.repaired(z, k), key=self.score)
            if (count := self.count(z)) == k or deadline.passed:
                break
            # The number of ones of a maximiser does not fall as lambda rises, hence the bisection.
            if count < k:
                low = lam
            else:
                high = lam
        return lam, best


def search_counted(
    problem: Problem,
    group: np.ndarray,
    low: int,
    high: int,
    deadline: Deadline,
    start: np.ndarray | None = None,
) -> tuple[np.ndarray, float]:
    """Search for the best state with `low` to `high` ones in a group; return it and a bound.

    The bound holds for all states with such a count.

    If the best state without the constraint has more ones, states with `high` ones are searched
    first. Then a Lagrangian bound limits the scores of states with fewer ones, and the search moves
    inwards while that bound is higher than the best score. Fewer ones are treated likewise.

    Args:
        problem: a single instance on the host.
        group: `[n]`, bool.
        low: least count; at most `high` and at most the size of the group.
        high: greatest count; at least 0.
        deadline: time at which the search ends.
        start: `[n]`, a state with such a count, to begin with.
    """
    counted = Counted.of(problem, group)
    low = max(low, 0)
    high = min(high, int(group.sum()))
    # There must be a feasible state to return even if the deadline passes at once.
    best = counted.repaired(np.zeros(problem.n, np.int8), low)
    if start is not None:
        best = max(best, start, key=counted.score)
    bound = math.inf
    inwards = 0
    # Without the constraint first: if its best state satisfies the constraint, that is the answer.
    if low < high:
        z, bound = counted.searched(0, 0, 0, deadline)
        ones = counted.count(z)
        best = max(best, counted.repaired(z, min(max(ones, low), high)), key=counted.score)
        if low <= ones <= high:
            return best, bound
        inwards = -1
        if ones < low:
            inwards = 1
    if inwards < 0:
        ends = range(high, low - 1, -1)
    else:
        ends = range(low, high + 1)
    # Invariant: no state whose count lies before k in `ends` scores more than `highest`.
    highest = -math.inf
    for k in ends:
        z, proved, lam = _exactly(counted, k, deadline)
        best = max(best, z, key=counted.score)
        highest = max(highest, proved)
        rest = -math.inf
        # This sign makes s (c - k - inwards) >= 0 for
        # every count c beyond k: one bound holds for all.
        if k != ends[-1]:
            _, rest = counted.searched(inwards * max(0, inwards * lam), 0, k + inwards, deadline)
        deadline.tell(partial(Known.of, best, min(bound, max(highest, rest))))
        # Counts beyond k cannot beat the best state by more than rounding: they need no search.
        if rest - problem.score_flat(best[None])[0] <= problem.rounding[0] or deadline.passed:
            highest = max(highest, rest)
            break
    return best, min(bound, highest)


def _exactly(counted: Counted, k: int, deadline: Deadline) -> tuple[np.ndarray, float, int]:
    """Search for the best state `[n]` with k ones; return it, a bound on these, and lambda."""
    lam, best = counted.multiplier(k, deadline)
    weights = np.abs(counted.weights[counted.inside])
    bound = math.inf
    mu = 1
    if len(weights):
        mu = max(1, round(float(weights.mean())))
    while True:
        # s c + t c (c - 1) / 2 is lam c - mu (c - k)^2 up to a constant: an augmented Lagrangian.
        z, proved = counted.searched(lam + mu * (2 * k - 1), -2 * mu, k, deadline, best)
        best = max(best, counted.repaired(z, k), key=counted.score)
        bound = min(bound, proved)
        # With k ones the penalty is 0, so the bound of this search closes on its state.
        if (missing := k - counted.count(z)) == 0 or deadline.passed:
            return best, bound, lam
        # The multiplier step of the augmented Lagrangian; a stiffer penalty makes the loop end.
        lam += 2 * mu * missing
        mu *= 2
