"""Solve one dense instance by branch and bound, from rounding to optimality certificate.

The coefficients are rounded to whole numbers of a unit that sum to less than 2^53, so the scores of
partial and full assignments are exact in float64. A bound of the rounded problem holds for the
original one once the sum of the roundings is added.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...arrays import Edges, States
from ...compiled.best import Best, in_order, take
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problems.problem import EPSILON, Problem
from ..local_search.improvement import Improver
from ..local_search.near_states import near_states
from ..local_search.warm_start import first_state
from ..precision.units import Units, to_units
from .forecast import Forecast
from .strong_tree import StrongTree
from .tree import Incumbent, Tree

WORK_A_CALL = 100 * 100**3
"""Work between two looks at the clock, as nodes times n^3: about 10 ms."""

NANOSECONDS = 20
"""Approximate time of the first relaxation, per n^3."""

FIRST_CALLS = 1000
"""Calls of the search without triangle inequalities before the first `Forecast`.

The forecast decides whether to switch to the search with them. It is repeated whenever the calls
have doubled. The gap of the root alone does not tell the number of nodes: where pairs exclude each
other, few nodes remain at a large gap, and on QPLIB 5721 many remain at a small one.
"""

FIRST_SHARE = 0.2
"""Share of the remaining time after which the first `Forecast` decides at the latest."""


def search_dense(
    problem: Problem, deadline: Deadline, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, int]:
    """Search for the best state `[n]`; return it, an upper bound, and the number of nodes.

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
    """Search for the best states; return them `[count, n]`, a bound, and the number of nodes.

    The bound holds for all other states; with `count` 1 it holds for all states. Values that never
    help are fixed only with `count` 1; the score of the last state prunes everything else.

    Args:
        problem: a single instance on the host.
        deadline: when to end.
        count: number of states, at most 2^n.
        start: `[n]`, a state to start from; None for that of `local_search`.
    """
    n = problem.n
    improver = Improver(problem)
    units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
    # All values are 0 in these units: every state is a maximiser up to the error of the units.
    if not units.values.any():
        zeros = np.zeros(n, np.int8)
        near = near_states(zeros, units.values[:n], count)
        return near[:count], units.upper_bound(units.error), 0
    h = units.values[:n]
    matrix = matrix_of(n, units.values[n:], problem.edges)
    z = first_state(problem, start, deadline)
    turned = 0
    if n > 1 and not (2 * h + matrix.sum(axis=0)).any():
        # Flipping all bits does not change the score, so the last bit may stay at 0.
        n -= 1
        turned = 1
        z ^= z[n]
        h = h[:n]
        matrix = np.ascontiguousarray(matrix[:n, :n])
    # Where the last bit is fixed, every state stands for its complement too.
    best = _best_near(z[:n], h, matrix, -(-count // (1 + turned)))
    incumbent = Incumbent(best, _margin(units), np.full(1, -np.inf))
    with deadline.flag(1e-9 * NANOSECONDS * n**3) as stop:
        tree = Tree(h, matrix, incumbent, stop)
    tree.run(1)  # always handle the root: the time for its relaxation is already spent
    at_once = max(1, WORK_A_CALL // n**3)
    forecast = Forecast(n, FIRST_CALLS)
    # After this time the forecast is asked even if the calls so far do not make it due.
    first = deadline.within(FIRST_SHARE * deadline.left)
    # Depth first: until the tree is searched, or the forecast prefers the search by triangles.
    while tree.is_open and not deadline.passed:
        if first.passed or forecast.is_due:
            gap = _ratio(tree.root_bound - float(best.scores[-1]), tree.scale)
            if not forecast.depth_first_ends_sooner(gap, deadline.left):
                break
            # The forecast keeps depth first: from here on it decides alone when to give up.
            first = deadline
        deadline.tell(partial(_known, turned, units, incumbent, tree.open_bounds))
        tree.run(at_once)
        forecast.note(tree.depth)
        if tree.is_open:
            _offer(improver.better(_whole(best, turned)[0], deadline), h, matrix, best)
    if not tree.is_open or deadline.passed:
        return _whole(best, turned)[:count], _bound(units, incumbent, tree.open_bounds), tree.nodes
    # Best first, from the root again, with the incumbent of the depth-first search.
    strong = StrongTree(h, matrix, incumbent, tree.root_bound)
    while strong.is_open and not deadline.passed:
        _offer(improver.better(_whole(best, turned)[0], deadline), h, matrix, best)
        soon = deadline.within(improver.wait)
        strong.search(soon, lambda: _known(turned, units, incumbent, strong.open_bounds))
    nodes = tree.nodes + strong.nodes
    return _whole(best, turned)[:count], _bound(units, incumbent, strong.open_bounds), nodes


def _ratio(gap: float, scale: float) -> float:
    """Return the gap in units of the scale, which is 0 where no two variables are coupled."""
    if scale > 0.0:
        return gap / scale
    return math.inf if gap > 0.0 else 0.0


def _best_near(z: np.ndarray, h: np.ndarray, matrix: np.ndarray, count: int) -> Best:
    """Return the best states of `z [n]` and of some states around it."""
    if count == 1:
        return Best.of(z[None], np.full(1, score_of(h, matrix, z)), 1)
    states = near_states(z, (1 - 2 * z) * (h + matrix @ z), count)
    halves = states @ np.triu(matrix)
    return Best.of(states, states @ h + (halves * states).sum(axis=1), count)


def _whole(best: Best, turned: int) -> States:
    """Return the best states `[states, n]` in order.

    Where the last bit was fixed at 0, every state is followed by its complement.
    """
    states = in_order(best)
    if not turned:
        return states
    one = np.pad(states, ((0, 0), (0, 1)))
    return np.stack((one, 1 - one), axis=1).reshape(-1, one.shape[1])


def _offer(state: np.ndarray | None, h: np.ndarray, matrix: np.ndarray, best: Best) -> None:
    """Offer a state `[n]` or `[n + 1]` of the problem, after turning its last bit to 0."""
    if state is not None:
        last = state[-1] if len(state) > len(h) else 0
        offered = (state ^ last)[: len(h)]
        take(best, score_of(h, matrix, offered), offered)


def matrix_of(n: int, weights: np.ndarray, edges: Edges) -> np.ndarray:
    """Return the symmetric matrix `[n, n]` of the pairwise scores `[e]`."""
    matrix = np.zeros((n, n))
    matrix[edges[:, 0], edges[:, 1]] = matrix[edges[:, 1], edges[:, 0]] = weights
    return matrix


def score_of(h: np.ndarray, matrix: np.ndarray, z: np.ndarray) -> float:
    """Return the score of a state `[n]`, counting every pair once.

    It is exact, since whole numbers whose magnitudes sum to less than 2^53 do not round.
    """
    return float(h @ z + z @ (np.tril(matrix) @ z))


def _margin(units: Units) -> float:
    """Return by how much a bound must exceed the best score for its node to stay open, in units.

    Two scores differ by at least one unit. Where the unit is the finest that float64 holds, bounds
    round by more than that. There the search may stop at the part of the tolerance that the
    roundings leave.
    """
    if units.common:
        return 1.0 - 2.0**-20
    tolerance = EPSILON * len(units.values) * math.fsum(np.abs(units.values))
    return max(0.0, 0.99 * tolerance - 2.0 * units.error)


def _known(turned: int, units: Units, incumbent: Incumbent, open_bounds: np.ndarray) -> Known:
    """Return the best state and a bound on all states.

    No state exceeds the largest of the open nodes' bounds and the best score.
    """
    score = float(incumbent.best.scores[0])
    highest = units.upper_bound(math.nextafter(score + units.error, math.inf))
    bound = max(highest, _bound(units, incumbent, open_bounds))
    return Known.of(_whole(incumbent.best, turned)[0], bound)


def _bound(units: Units, incumbent: Incumbent, open_bounds: np.ndarray) -> float:
    """Return an upper bound in the original scale, from pruned nodes and open ones."""
    bound = float(incumbent.best.scores[-1])
    if not units.common:
        bound = max(bound, float(incumbent.ceiling[0]))
    if len(open_bounds):
        bound = min(max(bound, float(open_bounds.max())), math.fsum(np.maximum(units.values, 0.0)))
    if units.error:
        bound = math.nextafter(bound + units.error, math.inf)
    return units.upper_bound(bound)
