"""Feasible states and bounds under a count of a group on a forest, without tables of counts.

A price on each variable of the group takes the place of the count. For any price p and any count
c in the allowed range, the best score within the count is at most
max_z (score(z) + p count(z)) - p c, and a forest gives that maximum in linear time. The bound is
convex in p, and its slope is the count of the maximiser: bisection finds the least one. States
between two prices then differ little from the allowed count, and single flips close the rest.

References:
    Everett (1963), Generalized Lagrange multiplier method for solving problems of optimum
    allocation of resources.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ...arrays import Scores, States
from ...limits.deadline import Deadline
from ...problems.flips import flip_gains_of_each
from ...problems.problem import EPSILON, Problem

STEPS = 40
"""Maximum number of prices."""

LEAST_ENTRIES = 1 << 20
"""Number of scores that all prices together may read even if there is no time.

They take some hundredths of a second.
"""

Maximise = Callable[[Problem], States]
"""Return the best states `[batch, n]` of a problem over the same forest, without a count."""


@dataclass(frozen=True, eq=False)
class CountedStates:
    """States within a count, and bounds on the scores of all such states.

    Attributes:
        z: `[batch, n]`.
        bound: `[batch]`.
    """

    z: States
    bound: Scores


def relax_count(
    problem: Problem,
    group: np.ndarray,
    counts: tuple[int, int],
    values: np.ndarray,
    maximise: Maximise,
    deadline: Deadline,
) -> CountedStates:
    """Return feasible states and bounds, from some prices, and more while there is time.

    Args:
        problem: the batch, on the host.
        group: `[n]` bool.
        counts: the least and the greatest count; fixed values and the group allow one of them.
        values: `[n]`: 0 or 1 for fixed variables, -1 for the others.
        maximise: of states that keep the fixed values.
        deadline: of the prices after those that read `LEAST_ENTRIES` scores.
    """
    low, high = counts
    incumbent = _Incumbent(problem)
    bound = np.full(problem.batch, np.inf)
    # Beyond this price all free variables of the group have the same value.
    steepest = 1.0 + _largest_gains(problem)
    prices = _Interval(-steepest, steepest)
    entries = problem.batch * (problem.n + problem.e)
    for step in range(STEPS):
        if step * entries >= LEAST_ENTRIES and deadline.passed:
            break
        price = prices.middle
        priced = replace(problem, unary=problem.unary + price[:, None] * group)
        z = maximise(priced)
        ones = z[:, group].sum(axis=1, dtype=np.int64)
        value = priced.score_flat(z) - price * np.where(price > 0, low, high)
        bound = np.minimum(bound, value + _rounding(problem, price, int(group.sum())))
        incumbent.replace(_with_count(problem, group, np.clip(ones, low, high), values, z))
        inside = (low <= ones) & (ones <= high)
        if (inside & (price == 0)).all():
            break
        # A price above 0 asks for no more than the least count, and one below 0 for the greatest.
        prices = prices.without(
            too_low=(ones < low) | (inside & (price <= 0)),
            too_high=(ones > high) | (inside & (price >= 0)),
        )
    return CountedStates(incumbent.z, np.maximum(bound, incumbent.score))


class _Incumbent:
    """The best feasible states so far, with their scores."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self.z: States = np.full((problem.batch, problem.n), -1, np.int8)
        self.score: Scores = np.full(problem.batch, -np.inf)

    def replace(self, z: States) -> None:
        """Take the states `[batch, n]` that score more."""
        score = self._problem.score_flat(z)
        better = score > self.score
        self.z = np.where(better[:, None], z, self.z)
        self.score = np.where(better, score, self.score)


@dataclass(frozen=True, eq=False)
class _Interval:
    """Between which prices the best one of each instance lies.

    Attributes:
        lower: `[batch]`.
        upper: `[batch]`.
    """

    lower: np.ndarray
    upper: np.ndarray

    @property
    def middle(self) -> np.ndarray:
        """The next prices to try, `[batch]`."""
        return np.asarray((self.lower + self.upper) / 2)

    def without(self, too_low: np.ndarray, too_high: np.ndarray) -> _Interval:
        """Return the halves that remain once `middle` is known to be too low or too high."""
        lower = np.where(too_low, self.middle, self.lower)
        return _Interval(lower, np.where(too_high, self.middle, self.upper))


def _rounding(problem: Problem, price: np.ndarray, group: int) -> np.ndarray:
    """Return `[batch]`, how far rounding may lower a bound at some price of `group` variables."""
    largest = problem.magnitude + np.abs(price) * group
    return np.asarray(4 * EPSILON * (problem.n + problem.e + 1) * largest)


def _with_count(
    problem: Problem, group: np.ndarray, wanted: np.ndarray, values: np.ndarray, z: States
) -> States:
    """Return states with `wanted [batch]` ones in the group, by the flips that cost least."""
    flipped = z.copy()
    free = group & (values < 0)
    gains = flip_gains_of_each(problem, z)
    for instance, target in enumerate(wanted.tolist()):
        missing = target - int(z[instance, group].sum())
        if not missing:
            continue
        candidates = np.flatnonzero(free & (z[instance] == (missing < 0)))
        order = np.argsort(-gains[instance, candidates], kind="stable")
        flipped[instance, candidates[order[: abs(missing)]]] ^= 1
    return flipped


def _largest_gains(problem: Problem) -> Scores:
    """Return `[batch]`: no flip of a single variable changes a score by more."""
    gains = np.abs(np.asarray(problem.unary, np.float64))
    pairwise = np.abs(np.asarray(problem.pairwise, np.float64))
    for end in problem.topology.pairs.T:
        np.add.at(gains.T, end, pairwise.T)
    largest: np.ndarray = gains.max(axis=1)
    return largest
