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
    bound = np.full(problem.batch, np.inf)
    best = np.full((problem.batch, problem.n), -1, np.int8)
    score = np.full(problem.batch, -np.inf)
    price = np.zeros(problem.batch)
    # Beyond this price all free variables of the group have the same value.
    steepest = 1.0 + _largest_gains(problem)
    lower = -steepest
    upper = steepest.copy()
    entries = problem.batch * (problem.n + problem.e)
    for step in range(STEPS):
        if step * entries >= LEAST_ENTRIES and deadline.passed:
            break
        priced = replace(problem, unary=problem.unary + price[:, None] * group)
        z = maximise(priced)
        ones = z[:, group].sum(axis=1, dtype=np.int64)
        nearest = np.where(price > 0, low, high)
        value = priced.score_flat(z) - price * nearest
        rounding = 4 * EPSILON * (problem.n + problem.e + 1)
        rounding = rounding * (problem.magnitude + np.abs(price) * group.sum())
        bound = np.minimum(bound, value + rounding)
        feasible = _with_count(problem, group, np.clip(ones, low, high), values, z)
        reached = problem.score_flat(feasible)
        better = reached > score
        best = np.where(better[:, None], feasible, best)
        score = np.where(better, reached, score)
        if ((low <= ones) & (ones <= high) & (price == 0)).all():
            break
        lower = np.where(ones < low, price, lower)
        upper = np.where(ones > high, price, upper)
        inside = (low <= ones) & (ones <= high)
        # A price above 0 asks for no more than the least count, and one below 0 for the greatest.
        upper = np.where(inside & (price >= 0), price, upper)
        lower = np.where(inside & (price <= 0), price, lower)
        price = (lower + upper) / 2
    return CountedStates(best, np.maximum(bound, score))


def _with_count(
    problem: Problem, group: np.ndarray, wanted: np.ndarray, values: np.ndarray, z: States
) -> States:
    """Return states with `wanted [batch]` ones in the group, by the flips that cost least."""
    flipped = z.copy()
    free = group & (values < 0)
    gains = _gains(problem, z)
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


def _gains(problem: Problem, z: States) -> np.ndarray:
    """Return `[batch, n]` how much the flip of each single variable adds to the score."""
    first, second = problem.topology.pairs.T
    field = np.array(problem.unary, np.float64)
    pairwise = np.asarray(problem.pairwise, np.float64)
    np.add.at(field.T, first, (pairwise * z[:, second]).T)
    np.add.at(field.T, second, (pairwise * z[:, first]).T)
    gains: np.ndarray = field * (1 - 2 * z)
    return gains
