"""Solve one dense instance by branch and bound, from rounding to optimality certificate.

The coefficients are rounded to whole numbers of a unit that sum to less than 2^53, so the scores of
partial and full assignments are exact in float64. A bound of the rounded problem holds for the
original one once the sum of the roundings is added.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
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
from .forecast import Forecast, seconds_best_first
from .strong_tree import StrongTree
from .tree import Incumbent, Lagrangian, Tree

WORK_A_CALL = 100 * 100**3
"""Work between two checks of the time, as nodes times n^3: about 10 ms."""

NANOSECONDS = 20
"""Approximate time of the first relaxation, per n^3."""

FIRST_CALLS = 150
"""Calls of the search without triangle inequalities before the first `Forecast`.

They take about as long as the relaxation of the root with triangle inequalities. The forecast
decides whether to switch to the search with them. It is repeated whenever the calls have doubled.
The gap of the root does not determine the number of nodes. If pairs exclude each other, few nodes
remain at a large gap, and on QPLIB 5721 many remain at a small one.
"""

FIRST_SHARE = 0.2
"""Share of the remaining time after which the first `Forecast` decides at the latest."""

LEAST_CALLS = 32
"""Minimum number of calls before a `Forecast`, even if little time remains.

It compares the depths of the last half of the calls with those of the quarter before.
"""


def search_dense(
    problem: Problem, deadline: Deadline, start: np.ndarray | None = None
) -> tuple[np.ndarray, float, int]:
    """Search for the best state `[n]`; return it, an upper bound, and the number of nodes.

    Args:
        problem: a single instance on the host.
        deadline: time at which the search ends.
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
        deadline: time at which the search ends.
        count: number of states, at most 2^n.
        start: `[n]`, a state to start from; None for that of `local_search`.
    """
    n = problem.n
    units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
    # All values are 0 in these units: every state is a maximiser up to the error of the units.
    if not units.values.any():
        zeros = np.zeros(n, np.int8)
        near = near_states(zeros, units.values[:n], count)
        return near[:count], units.upper_bound(units.error), 0
    search = _DenseSearch.of(problem, units, first_state(problem, start, deadline), count)
    tree = search.depth_first(deadline)
    bounds = tree.open_bounds
    nodes = tree.nodes
    if tree.is_open and not deadline.passed:
        # From the root again, with the incumbent of the depth-first search.
        bounds, more_nodes = search.with_triangles(tree, deadline)
        nodes += more_nodes
    return search.states()[:count], search.bound(bounds), nodes


@dataclass(frozen=True, eq=False)
class _DenseSearch:
    """A problem in whole units, with the best states so far, which all of its searches share.

    Attributes:
        h: `[n]`, the unary scores.
        matrix: `[n, n]`, the pairwise scores.
        halved: whether the problem has one more bit, which stays at 0: flipping all bits does not
            change the score, so every state stands for its complement too.
        units: the units of the scores.
        incumbent: the best states.
        improver: a local search that runs beside the exact one.
    """

    h: np.ndarray
    matrix: np.ndarray
    halved: bool
    units: Units
    incumbent: Incumbent
    improver: Improver

    @classmethod
    def of(cls, problem: Problem, units: Units, z: np.ndarray, count: int) -> _DenseSearch:
        """Return the search for `count` states that starts at the state `z [n]`."""
        n = problem.n
        h = units.values[:n]
        matrix = matrix_of(n, units.values[n:], problem.edges)
        halved = n > 1 and not (2 * h + matrix.sum(axis=0)).any()
        if halved:
            n -= 1
            z = z ^ z[n]
            h = h[:n]
            matrix = np.ascontiguousarray(matrix[:n, :n])
            count = -(-count // 2)
        incumbent = Incumbent(
            _best_near(z[:n], h, matrix, count), _margin(units), np.full(1, -np.inf)
        )
        return cls(h, matrix, halved, units, incumbent, Improver(problem))

    def depth_first(self, deadline: Deadline) -> Tree:
        """Search depth first until the tree is searched, or the forecast prefers triangles."""
        n = len(self.h)
        with deadline.flag(1e-9 * NANOSECONDS * n**3) as stop:
            tree = Tree(self.h, self.matrix, self.incumbent, stop)
        tree.run(1)  # always handle the root: the time for its relaxation is already spent
        at_once = max(1, WORK_A_CALL // n**3)
        forecast = Forecast(n, FIRST_CALLS)
        # After this time the forecast runs even if the calls so far do not make it due.
        first = deadline.within(FIRST_SHARE * deadline.left)
        while tree.is_open and not deadline.passed:
            if forecast.is_due or (first.passed and forecast.calls >= LEAST_CALLS):
                if not forecast.depth_first_ends_sooner(self._relative_gap(tree), deadline.left):
                    break
                # The forecast keeps depth first; from here on only the forecast decides when to
                # stop.
                first = deadline
            deadline.tell(partial(self._known, tree.open_bounds))
            tree.run(at_once)
            forecast.note(tree.depth)
            if tree.is_open:
                self._improve(deadline)
        return tree

    def with_triangles(self, plain: Tree, deadline: Deadline) -> tuple[np.ndarray, int]:
        """Search with triangle inequalities; return bounds on the open states, and the nodes.

        The search is depth-first. It becomes best-first after the time that such a search probably
        takes.

        Args:
            plain: the depth-first search without inequalities, after its root.
            deadline: time at which the search ends.
        """
        strong = StrongTree(self.h, self.matrix, self.incumbent, plain.root_bound)
        lagrangian = strong.bound_root(deadline)
        if not strong.is_open or deadline.passed:
            return strong.open_bounds, 1
        tree = self._depth_first_with(lagrangian, plain, deadline)
        if not tree.is_open or deadline.passed:
            # The bound of the root holds for every open node.
            return np.minimum(tree.open_bounds, strong.open_bounds.max()), tree.nodes + 1
        self._best_first(strong, deadline)
        return strong.open_bounds, tree.nodes + strong.nodes + 1

    def _depth_first_with(self, lagrangian: Lagrangian, plain: Tree, deadline: Deadline) -> Tree:
        """Search depth first with inequalities, no longer than a best-first search would take."""
        n = len(self.h)
        with deadline.flag(1e-9 * NANOSECONDS * n**3) as stop:
            tree = Tree(self.h, self.matrix, self.incumbent, stop, lagrangian)
        begin = time.thread_time()
        while tree.is_open and not deadline.passed:
            gap = self._relative_gap(plain)
            if time.thread_time() - begin > seconds_best_first(n, gap):
                break
            deadline.tell(partial(self._known, tree.open_bounds))
            tree.run(max(1, WORK_A_CALL // n**3))
            if tree.is_open:
                self._improve(deadline)
        return tree

    def _best_first(self, strong: StrongTree, deadline: Deadline) -> None:
        """Search best first, by bounds with triangle inequalities."""
        while strong.is_open and not deadline.passed:
            self._improve(deadline)
            soon = deadline.within(self.improver.wait)
            strong.search(deadline, lambda: self._known(strong.open_bounds), soon)

    def _relative_gap(self, tree: Tree) -> float:
        """Return the gap of the root of a search without inequalities, in mean d_i."""
        return _ratio(tree.root_bound - float(self.incumbent.best.scores[-1]), tree.scale)

    def states(self) -> States:
        """Return the best states `[states, n]` of the problem in order."""
        states = in_order(self.incumbent.best)
        if not self.halved:
            return states
        # The last bit was fixed at 0, so every state is followed by its complement.
        one = np.pad(states, ((0, 0), (0, 1)))
        return np.stack((one, 1 - one), axis=1).reshape(-1, one.shape[1])

    def bound(self, open_bounds: np.ndarray) -> float:
        """Return an upper bound in the original scale, from pruned nodes and open ones."""
        units = self.units
        bound = float(self.incumbent.best.scores[-1])
        if not units.common:
            bound = max(bound, float(self.incumbent.ceiling[0]))
        if len(open_bounds):
            positive_part = math.fsum(np.maximum(units.values, 0.0))
            bound = min(max(bound, float(open_bounds.max())), positive_part)
        if units.error:
            bound = math.nextafter(bound + units.error, math.inf)
        return units.upper_bound(bound)

    def _known(self, open_bounds: np.ndarray) -> Known:
        """Return the best state and a bound on all states.

        No state exceeds the largest of the open nodes' bounds and the best score.
        """
        score = float(self.incumbent.best.scores[0])
        highest = self.units.upper_bound(math.nextafter(score + self.units.error, math.inf))
        return Known.of(self.states()[0], max(highest, self.bound(open_bounds)))

    def _improve(self, deadline: Deadline) -> None:
        """Offer the state of the local search to the incumbent."""
        better = self.improver.better(self.states()[0], deadline)
        _offer(better, self.h, self.matrix, self.incumbent.best)


def _ratio(gap: float, scale: float) -> float:
    """Return the gap in units of the scale, which is 0 where no two variables are coupled."""
    if scale > 0.0:
        return gap / scale
    if gap > 0.0:
        return math.inf
    return 0.0


def _best_near(z: np.ndarray, h: np.ndarray, matrix: np.ndarray, count: int) -> Best:
    """Return the best states of `z [n]` and of some states around it."""
    if count == 1:
        return Best.of(z[None], np.full(1, score_of(h, matrix, z)), 1)
    states = near_states(z, (1 - 2 * z) * (h + matrix @ z), count)
    halves = states @ np.triu(matrix)
    return Best.of(states, states @ h + (halves * states).sum(axis=1), count)


def _offer(state: np.ndarray | None, h: np.ndarray, matrix: np.ndarray, best: Best) -> None:
    """Offer a state `[n]` or `[n + 1]` of the problem, after turning its last bit to 0."""
    if state is not None:
        n = len(h)
        offered = state
        if len(state) > n:
            offered = (state ^ state[n])[:n]
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

    Two scores differ by at least one unit. If the unit is the finest that float64 holds, bounds
    round by more than that. The search may then stop at the part of the tolerance that the
    roundings leave.
    """
    if units.common:
        return 1.0 - 2.0**-20
    tolerance = EPSILON * len(units.values) * math.fsum(np.abs(units.values))
    return max(0.0, 0.99 * tolerance - 2.0 * units.error)
