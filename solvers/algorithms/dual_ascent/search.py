"""Search depth first with branch and bound; messages along the edges bound the nodes, in int64.

Every edge e = (i, j) sends an amount m_i of score to i and m_j to j. The edge keeps w z_i z_j - m_i
z_i - m_j z_j, and variable i gets the field h_i = unary_i + sum of m_i. The score of z is the sum
of all of these, so

    bound = constant + sum_i max(0, h_i) + sum_e max(0, -m_i, -m_j, w - m_i - m_j).

A sweep visits the variables in order. Variable i takes from its edges the amounts that their bounds
gain by z_i, so that their bounds no longer depend on z_i. The bound for the other value of z_i is
then lower by |h_i|. Then variable i gives equal shares to its edges to later variables, which does
not change the bound. All numbers are int64 and all steps exact, so the bound is exact too.

References:
    Wainwright, Jaakkola, Willsky (2005), MAP estimation via agreement on trees: message-passing and
    linear programming.
    Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
"""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...compiled._kernels import dual_ascent as kernels
from ...compiled.best import Best
from ...compiled.graphs import neighbour_lists, sides_of
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ..precision.fixed_point import FixedPoint

ROOT_SWEEPS = 100
"""Maximum number of pairs of sweeps at the root, forwards and backwards."""

VISITS_A_CALL = 1 << 17
"""Work between two checks of the time, as nodes times n + e: some milliseconds."""

NANOSECONDS = 8
"""Estimated time per visit."""

DEPTH = 16
"""Initial depth of the stack, if memory suffices."""

STACK_MEMORY = 1 << 30
"""Largest size of the stack in bytes; a search that needs more stops without a certificate."""


class DualSearch:
    """A search for the best assignments of one instance that can be stopped and resumed."""

    def __init__(self, scores: FixedPoint, states: np.ndarray, count: int = 1):
        """Prepare the search without handling any node.

        Args:
            scores: a single instance.
            states: `[states, n]`, at least `count` distinct assignments to start from; or `[n]`,
                one.
            count: number of best assignments to search for.
        """
        states = np.atleast_2d(states)
        # A pair without a score would go unnoticed among free variables.
        joined = scores.pairwise[0] != 0
        n = scores.unary.shape[1]
        edges = scores.edges[joined]
        pairwise = scores.pairwise[0, joined]
        starts, near, edge = neighbour_lists(n, edges)
        best = Best.of(states, scores.score(states), count)
        lists = starts, near, edge, sides_of(starts, edge, edges)
        self._size = n + len(edges)
        # A level of the stack takes 16 bytes per variable
        # and pair; a large graph gets fewer levels.
        depth = max(2, min(DEPTH, STACK_MEMORY // (16 * self._size)))
        self._search = kernels.DualSearch(
            *lists, pairwise, scores.unary[0], best.states, best.scores, depth
        )
        self._scores = scores

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best assignment so far."""
        return np.asarray(self.states[0])

    @property
    def states(self) -> States:
        """`[count, n]` int8, the best assignments so far, the best first."""
        states: States = self._search.states
        return states

    @property
    def finished(self) -> bool:
        """Whether the search has ended with an optimality certificate."""
        return bool(self._search.finished)

    @property
    def bound(self) -> int:
        """An upper bound on the integer scores of all assignments except `states`."""
        return int(self._search.bound)

    def offer(self, z: np.ndarray) -> None:
        """Keep an assignment `[n]` if it is better than the last one of `states`."""
        self._search.offer(int(self._scores.score(z[None])[0]), np.ascontiguousarray(z, np.int8))

    def run(self, deadline: Deadline, visits: float = np.inf) -> None:
        """Search until the end, the deadline, or a full stack.

        Args:
            deadline: time at which the search ends.
            visits: approximate number of nodes times n + e at which to stop.
        """
        with deadline.flag(1e-9 * NANOSECONDS * min(visits, 2 * ROOT_SWEEPS * self._size)) as stop:
            self._run(deadline, visits, stop)

    def _known(self) -> Known:
        bound = max(self.bound, int(self._search.scores[0]))
        return Known(self.z[None], self._scores.bound(np.array([bound])))

    def _run(self, deadline: Deadline, visits: float, stop: np.ndarray) -> None:
        handled = 0
        at_once = max(1, VISITS_A_CALL // self._size)
        while not self.finished and not deadline.passed and handled * self._size < visits:
            if self._search.full:
                if 2 * self._search.bytes > STACK_MEMORY:
                    break
                self._search.double_stack()
            handled += self._search.run(at_once, stop)
            deadline.tell(self._known)
