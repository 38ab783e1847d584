"""Solve one dense instance by branch and bound, from rounding to optimality certificate.

The coefficients are rounded to whole numbers of a unit that sum to less than 2^53, so the scores of
partial and full assignments are exact in float64. A bound of the rounded problem holds for the
original one once the sum of the roundings is added.
"""

from __future__ import annotations

import math
import time
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

LONGEST_FORECAST = 3.0
"""Largest forecast, in units of the time left, with which depth first with triangles still runs.

The forecast is rough: dense problems with normal scores, n = 150 and 200, took 0.2 to 1.3 times as
long.
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
    search = DenseSearch(problem, deadline, start, count)
    search.run(deadline)
    return search.states[:count], search.score_bound, search.nodes


class DenseSearch:
    """A search for the best states of one instance that can be stopped and resumed.

    It searches depth first. It may begin again at the root with triangle inequalities, first depth
    first and then best first. All searches share the best states, and all are kept: a later run
    with more time may resume any of them.
    """

    def __init__(
        self,
        problem: Problem,
        deadline: Deadline,
        start: np.ndarray | None = None,
        count: int = 1,
    ):
        """Prepare the search without any node.

        Args:
            problem: a single instance on the host.
            deadline: ends the local search for a first state early.
            start: `[n]`, a state to start from; None for that of `local_search`.
            count: number of states, at most 2^n.
        """
        units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
        n = problem.n
        h = units.values[:n]
        matrix = matrix_of(n, units.values[n:], problem.edges)
        z = first_state(problem, start, deadline)
        # Flipping all bits does not change the score, so every state stands for its complement too,
        # and the last bit stays at 0.
        self._halved = n > 1 and not (2 * h + matrix.sum(axis=0)).any()
        if self._halved:
            n -= 1
            z = z ^ z[n]
            h = h[:n]
            matrix = np.ascontiguousarray(matrix[:n, :n])
            count = -(-count // 2)
        self._h = h
        self._matrix = matrix
        self._units = units
        self._incumbent = Incumbent(
            _best_near(z[:n], h, matrix, count), _margin(units), np.full(1, -np.inf)
        )
        self._improver = Improver(problem)
        # If all values are 0 in these units, every state is a maximiser up to their error.
        self._has_scores = bool(units.values.any())
        self._forecast = Forecast(n, FIRST_CALLS)
        self._tree: Tree | None = None
        self._strong: StrongTree | None = None
        self._triangle_tree: Tree | None = None
        self._triangle_seconds = 0.0  # CPU time of the triangle tree
        self._best_first_is_due = False
        self._root_cut_off = False
        self._least_bound = math.inf
        self._nodes_of_cut_off_roots = 0

    @property
    def states(self) -> States:
        """The best states `[states, n]` in order."""
        states = in_order(self._incumbent.best)
        if not self._halved:
            return states
        # The last bit was fixed at 0, so every state is followed by its complement.
        one = np.pad(states, ((0, 0), (0, 1)))
        return np.stack((one, 1 - one), axis=1).reshape(-1, one.shape[1])

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best state so far."""
        return np.asarray(self.states[0])

    @property
    def _trees(self) -> list[Tree | StrongTree]:
        """The searches that have begun, each of which covers all states."""
        trees = (self._tree, self._triangle_tree, self._strong)
        return [tree for tree in trees if tree is not None]

    @property
    def nodes(self) -> int:
        """Number of nodes so far."""
        return self._nodes_of_cut_off_roots + sum(tree.nodes for tree in self._trees)

    @property
    def finished(self) -> bool:
        """Whether no node is open."""
        if not self._has_scores:
            return True
        return not all(tree.is_open for tree in self._trees)

    @property
    def score_bound(self) -> float:
        """An upper bound on all scores; of several states, on the scores of all others."""
        bounds = np.full(1, math.inf)
        if self.finished:
            bounds = np.zeros(0)
        return min(self._least_bound, self._bound(bounds))

    @property
    def seconds_left(self) -> float:
        """Infinite: the time until an optimality certificate is unknown."""
        return math.inf

    def offer(self, z: np.ndarray) -> None:
        """Keep a state `[n]` if it is better than the worst one that is kept."""
        _offer(z, self._h, self._matrix, self._incumbent.best)

    def run(self, deadline: Deadline) -> None:
        """Search until the end or the deadline."""
        if self.finished:
            return
        tree = self._begun(deadline)
        self._search_depth_first(tree, deadline)
        if tree.is_open and not deadline.passed:
            self._search_with_triangles(tree, deadline)

    def _begun(self, deadline: Deadline) -> Tree:
        """Return the depth-first search, whose root is handled."""
        if self._tree is not None and not self._root_cut_off:
            return self._tree
        if self._tree is not None:
            # The deadline of an earlier run left its root with a worse relaxation.
            self._nodes_of_cut_off_roots += self._tree.nodes
            self._forecast = Forecast(len(self._h), FIRST_CALLS)
        with deadline.flag(1e-9 * NANOSECONDS * len(self._h) ** 3) as stop:
            tree = Tree(self._h, self._matrix, self._incumbent, stop)
            self._root_cut_off = bool(stop[0])
        tree.run(1)  # always handle the root: the time for its relaxation is already spent
        self._tree = tree
        self._note_bound(tree.open_bounds)
        return tree

    def _search_depth_first(self, tree: Tree, deadline: Deadline) -> None:
        """Search depth first until the tree is searched, or the forecast prefers triangles."""
        at_once = max(1, WORK_A_CALL // len(self._h) ** 3)
        forecast = self._forecast
        forecast.resume()
        # After this time the forecast runs even if the calls so far do not make it due.
        first = deadline.within(FIRST_SHARE * deadline.left - forecast.seconds)
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
        self._note_bound(tree.open_bounds)

    def _search_with_triangles(self, plain: Tree, deadline: Deadline) -> None:
        """Search from the root again, with triangle inequalities and the incumbent so far.

        The search is depth-first. It becomes best-first after the time that such a search probably
        takes.

        Args:
            plain: the depth-first search without inequalities, after its root.
            deadline: time at which the search ends.
        """
        strong = self._strong
        if strong is None:
            strong = StrongTree(self._h, self._matrix, self._incumbent, plain.root_bound)
            self._strong = strong
        tree = self._triangle_tree
        if tree is None:
            lagrangian = strong.bound_root(deadline)
            self._note_bound(strong.open_bounds)
            if not strong.is_open or deadline.passed:
                return
            tree = self._begun_with(lagrangian, deadline)
            if tree is None:
                return
            self._triangle_tree = tree
        if not self._best_first_is_due and self._may_end_in_time(plain, deadline):
            self._search_depth_first_with_triangles(tree, plain, deadline)
            if not tree.is_open:
                return
        while strong.is_open and not deadline.passed:
            self._improve(deadline)
            soon = deadline.within(self._improver.wait)
            strong.search(deadline, lambda: self._known(strong.open_bounds), soon)
        self._note_bound(strong.open_bounds)

    def _may_end_in_time(self, plain: Tree, deadline: Deadline) -> bool:
        """Return whether a depth-first search with inequalities may end before the deadline.

        If not, a best-first search lowers the bound more.
        """
        seconds = self._forecast.seconds_by_triangles(self._relative_gap(plain))
        return seconds <= LONGEST_FORECAST * deadline.left

    def _begun_with(self, lagrangian: Lagrangian, deadline: Deadline) -> Tree | None:
        """Return the depth-first search with inequalities; None if the deadline cuts off its root."""
        with deadline.flag(1e-9 * NANOSECONDS * len(self._h) ** 3) as stop:
            tree = Tree(self._h, self._matrix, self._incumbent, stop, lagrangian)
            if stop[0]:
                return None
        return tree

    def _search_depth_first_with_triangles(
        self, tree: Tree, plain: Tree, deadline: Deadline
    ) -> None:
        """Search depth first, no longer than a best-first search would probably take."""
        n = len(self._h)
        begin = time.thread_time()
        before = self._triangle_seconds
        while tree.is_open and not deadline.passed:
            self._triangle_seconds = before + time.thread_time() - begin
            if self._triangle_seconds > seconds_best_first(n, self._relative_gap(plain)):
                self._best_first_is_due = True
                break
            deadline.tell(partial(self._known, tree.open_bounds))
            tree.run(max(1, WORK_A_CALL // n**3))
            if tree.is_open:
                self._improve(deadline)
        self._note_bound(tree.open_bounds)

    def _relative_gap(self, plain: Tree) -> float:
        """Return the gap of the root of the search without inequalities, in mean d_i."""
        gap = plain.root_bound - float(self._incumbent.best.scores[-1])
        return _ratio(gap, plain.scale)

    def _note_bound(self, open_bounds: np.ndarray) -> None:
        """Keep the bound of a search's open nodes if it is the lowest so far."""
        self._least_bound = min(self._least_bound, self._bound(open_bounds))

    def _bound(self, open_bounds: np.ndarray) -> float:
        """Return an upper bound in the original scale, from pruned nodes and open ones."""
        units = self._units
        bound = float(self._incumbent.best.scores[-1])
        if not units.common:
            bound = max(bound, float(self._incumbent.ceiling[0]))
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
        score = float(self._incumbent.best.scores[0])
        units = self._units
        highest = units.upper_bound(math.nextafter(score + units.error, math.inf))
        bound = min(self._least_bound, self._bound(open_bounds))
        return Known.of(self.z, max(highest, bound))

    def _improve(self, deadline: Deadline) -> None:
        """Offer the state of the local search to the incumbent."""
        better = self._improver.better(self.z, deadline)
        if better is not None:
            self.offer(better)


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


def _offer(state: np.ndarray, h: np.ndarray, matrix: np.ndarray, best: Best) -> None:
    """Offer a state `[n]` or `[n + 1]` of the problem, after turning its last bit to 0."""
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
