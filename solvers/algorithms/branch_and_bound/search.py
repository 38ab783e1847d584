"""One dense instance by branch and bound, from rounding to certificate.

The coefficients are rounded to whole numbers of a unit that sum to less than 2^53, so the scores of
partial and full assignments are exact in float64. What is proved of the rounded problem holds for
the given one within the sum of the roundings.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...arrays import Edges, States
from ...compiled.best import Best, in_order, take
from ...limits.deadline import Deadline, now
from ...limits.progress import Known
from ...problem import EPSILON, Problem
from ..local_search.improvement import improved
from ..local_search.near_states import near_states
from ..local_search.warm_start import first_state
from ..precision.units import Units, to_units
from .forecast import Forecast
from .strong_tree import StrongTree
from .tree import Incumbent, Tree

WORK_A_CALL = 100 * 100**3
"""Nodes times n^3; 10 ms, about: how finely the time limit is kept."""

NANOSECONDS = 20
"""Of n^3, about, for the first relaxation."""

IMPROVED_FROM, IMPROVED_AGAIN, IMPROVED_SHARE = 0.05, 3.0, 0.15
"""Seconds of search after which a better state is looked for, the factor to the next time, and the share for it."""

LARGE_GAP = 1.75
"""Of the root, in mean d_i, beyond which triangle inequalities pay.

The logarithm of the nodes without them grows by 5.5 for each unit of this: about 2,000 at 1.0 and
450,000 at 1.95, for normal scores and for +1 and -1 alike, n = 60 to 120.
"""

FIRST_CALLS, FIRST_SHARE = 1000, 0.2
"""Calls of the search without them, and its share of the time left, after which `Forecast` says whether it is given up
for them; asked again whenever the calls have doubled. Where pairs exclude each other, for one, the
gap of the root is large, and few nodes are left.
"""


class Improver:
    """Local search beside the search, as long as that is not soon over.

    Attributes:
        problem: a single instance on the host.
    """

    def __init__(self, problem: Problem):
        """Nothing is tried before the search has taken a while."""
        self.problem, self._begin, self._next = problem, now(), IMPROVED_FROM
        self._seed = 0

    @property
    def wait(self) -> float:
        """Seconds until something is tried again."""
        return max(0.0, self._next - (now() - self._begin))

    def better(self, z: np.ndarray, deadline: Deadline) -> np.ndarray | None:
        """`[n]`: a state that is no worse than `z`; None where it is not yet time for it."""
        if (spent := now() - self._begin) < self._next:
            return None
        self._next, self._seed = IMPROVED_AGAIN * spent, self._seed + 1
        soon = deadline.within(min(IMPROVED_SHARE * spent, IMPROVED_SHARE * deadline.left))
        return improved(self.problem, z, soon, self._seed)


def search_dense(
    problem: Problem, deadline: Deadline, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, int]:
    """The best state found `[n]`, an upper bound on the maximum, and how many nodes were handled.

    Args:
        problem: a single instance on the host.
        deadline: when to end.
        start: `[n]`, a state to start from; None for that of `local_search`.
    """
    states, bound, nodes = rank_dense(problem, deadline, 1, start)
    return states[0], bound, nodes


def rank_dense(
    problem: Problem, deadline: Deadline, count: int, start: np.ndarray | None = None
) -> tuple[States, float, int]:
    """The best states found `[count, n]`, an upper bound on the scores of all others, and the nodes handled.

    Of a single state the bound is on all. Values that never help are fixed for it alone; all else
    is pruned by the score of the last state.

    Args:
        problem: a single instance on the host.
        deadline: when to end.
        count: how many, at most 2^n.
        start: `[n]`, a state to start from; None for that of `local_search`.
    """
    n, improver = problem.n, Improver(problem)
    units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
    if not units.values.any():
        zeros = np.zeros(n, np.int8)
        return (
            near_states(zeros, units.values[:n], count)[:count],
            units.upper_bound(units.error),
            0,
        )
    h, matrix = units.values[:n], matrix_of(n, units.values[n:], problem.edges)
    z, turned = first_state(problem, start, deadline), 0
    if n > 1 and not (2 * h + matrix.sum(axis=0)).any():
        n, turned = n - 1, 1  # flipping all bits changes nothing: the last one may stay at 0
        z ^= z[n]
        h, matrix = h[:n], np.ascontiguousarray(matrix[:n, :n])
    best = _best_near(z[:n], h, matrix, -(-count // (1 + turned)))
    incumbent = Incumbent(best, _margin(units), np.full(1, -np.inf))
    with deadline.flag(1e-9 * NANOSECONDS * n**3) as stop:
        tree = Tree(h, matrix, incumbent, stop)
    tree.run(1)  # the bound is worth what was spent on it
    gap = _ratio(tree.root_bound - float(best.scores[-1]), tree.scale)
    wide = tree.is_open and gap > LARGE_GAP
    at_once, forecast = max(1, WORK_A_CALL // n**3), Forecast(n, gap, FIRST_CALLS)
    first = deadline.within(FIRST_SHARE * deadline.left) if wide else deadline
    while tree.is_open and not deadline.passed:
        if wide and (first.passed or forecast.is_due):
            if not forecast.depth_first_ends_sooner(deadline.left):
                break
            first = deadline
        deadline.tell(partial(_known, turned, units, incumbent, tree.open_bounds))
        tree.run(at_once)
        forecast.note(tree.depth)
        if tree.is_open and first is deadline:
            _offer(improver.better(_whole(best, turned)[0], deadline), h, matrix, best)
    if not wide or not tree.is_open:
        return _whole(best, turned)[:count], _bound(units, incumbent, tree.open_bounds), tree.nodes
    strong = StrongTree(h, matrix, incumbent, tree.root_bound)
    while strong.is_open and not deadline.passed:
        _offer(improver.better(_whole(best, turned)[0], deadline), h, matrix, best)
        soon = deadline.within(improver.wait)
        strong.search(soon, lambda: _known(turned, units, incumbent, strong.open_bounds))
    nodes = tree.nodes + strong.nodes
    return _whole(best, turned)[:count], _bound(units, incumbent, strong.open_bounds), nodes


def _ratio(gap: float, scale: float) -> float:
    """The gap in units of the scale, which is 0 where no two variables meet."""
    if scale > 0.0:
        return gap / scale
    return math.inf if gap > 0.0 else 0.0


def _best_near(z: np.ndarray, h: np.ndarray, matrix: np.ndarray, count: int) -> Best:
    """The best of a state `[n]` and of some around it."""
    if count == 1:
        return Best.of(z[None], np.full(1, score_of(h, matrix, z)), 1)
    states = near_states(z, (1 - 2 * z) * (h + matrix @ z), count)
    halves = states @ np.triu(matrix)
    return Best.of(states, states @ h + (halves * states).sum(axis=1), count)


def _whole(best: Best, turned: int) -> States:
    """`[states, n]`: the best ones in order; where the last bit was turned to 0, each with its complement."""
    states = in_order(best)
    if not turned:
        return states
    one = np.pad(states, ((0, 0), (0, 1)))
    return np.stack((one, 1 - one), axis=1).reshape(-1, one.shape[1])


def _offer(state: np.ndarray | None, h: np.ndarray, matrix: np.ndarray, best: Best) -> None:
    """Takes a state `[n]` or `[n + 1]` of the problem, whose last bit may be turned to 0, where it is better."""
    if state is not None:
        offered = (state ^ (state[-1] if len(state) > len(h) else 0))[: len(h)]
        take(best, score_of(h, matrix, offered), offered)


def matrix_of(n: int, weights: np.ndarray, edges: Edges) -> np.ndarray:
    """`[n, n]`, symmetric: the pairwise scores `[e]`."""
    matrix = np.zeros((n, n))
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = weights
    return matrix


def score_of(h: np.ndarray, matrix: np.ndarray, z: np.ndarray) -> float:
    """Of a state `[n]`; exact: whole numbers whose magnitudes sum to less than 2^53, every pair once."""
    return float(h @ z + z @ (np.tril(matrix) @ z))


def _margin(units: Units) -> float:
    """By how much a node must be able to better the best score, in units, not to be pruned.

    A better score is better by a unit. Where the unit is the finest that float64 holds, bounds
    round by more than that: there the search may stop at what the roundings leave of the tolerance.
    """
    if units.common:
        return 1.0 - 2.0**-20
    tolerance = EPSILON * len(units.values) * math.fsum(np.abs(units.values))
    return max(0.0, 0.99 * tolerance - 2.0 * units.error)


def _known(turned: int, units: Units, incumbent: Incumbent, open_bounds: np.ndarray) -> Known:
    """Of the best state alone: no other is better than the open nodes and those that are known."""
    highest = units.upper_bound(
        math.nextafter(float(incumbent.best.scores[0]) + units.error, math.inf)
    )
    bound = max(highest, _bound(units, incumbent, open_bounds))
    return Known.of(_whole(incumbent.best, turned)[0], bound)


def _bound(units: Units, incumbent: Incumbent, open_bounds: np.ndarray) -> float:
    """An upper bound in the given scale: pruned nodes are within the margin, open ones within their bounds."""
    bound = float(incumbent.best.scores[-1])
    if not units.common:
        bound = max(bound, float(incumbent.ceiling[0]))
    if len(open_bounds):
        bound = min(max(bound, float(open_bounds.max())), math.fsum(np.maximum(units.values, 0.0)))
    if units.error:
        bound = math.nextafter(bound + units.error, math.inf)
    return units.upper_bound(bound)
