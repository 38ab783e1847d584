"""Depth-first branch and bound whose nodes are bounded by messages along the edges; all scores are int64.

Every edge e = (i, j) hands an amount m_i of score to i and m_j to j. That leaves it with
w z_i z_j - m_i z_i - m_j z_j, and gives variable i the field h_i = unary_i + sum of m_i. The score
of z is the sum of all of these, so

    bound = constant + sum_i max(0, h_i) + sum_e max(0, -m_i, -m_j, w - m_i - m_j).

A sweep visits the variables in turn. Each takes from its edges what they could win by it, so that
they no longer care about it: then the bound with the other value of i is |h_i| lower. Then it gives
equal shares to the edges that lead on, which leaves the bound as it is. All numbers are int64 and
all steps exact, so the bound holds to the last bit.

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
"""Pairs of sweeps at the root at most, there and back."""

VISITS_A_CALL = 1 << 17
"""Nodes times n + e, some milliseconds: how finely the time limit is kept."""

NANOSECONDS = 8
"""Estimated work of a visit."""

DEPTH = 16
"""Of the stack at first, where there is memory for it."""

STACK_MEMORY = 1 << 30
"""Bytes of the stack; a search that would need more stops, without a proof."""


class DualSearch:
    """A search for the best assignments of one instance that can be stopped and resumed."""

    def __init__(self, scores: FixedPoint, known: np.ndarray, count: int = 1):
        """Does no search yet.

        Args:
            scores: a single instance.
            known: `[known, n]`, at least `count` assignments to start from, none of them twice; or
                `[n]`, a single one.
            count: how many are wanted.
        """
        known = np.atleast_2d(known)
        # a pair without a score would go unnoticed among free variables
        joined = scores.pairwise[0] != 0
        n, edges, pairwise = scores.unary.shape[1], scores.edges[joined], scores.pairwise[0, joined]
        starts, near, edge = neighbour_lists(n, edges)
        best = Best.of(known, scores.score(known), count)
        lists = starts, near, edge, sides_of(starts, edge, edges)
        self._size = n + len(edges)
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
        """`[count, n]` int8, the best so far, the best first."""
        states: States = self._search.states
        return states

    @property
    def finished(self) -> bool:
        """Whether everything was searched."""
        return bool(self._search.finished)

    @property
    def bound(self) -> int:
        """No integer score is larger, except those of `states`."""
        return int(self._search.bound)

    def offer(self, z: np.ndarray) -> None:
        """Takes an assignment `[n]` where it is better than the last of its own."""
        self._search.offer(int(self._scores.score(z[None])[0]), np.ascontiguousarray(z, np.int8))

    def run(self, deadline: Deadline, visits: float = np.inf) -> None:
        """Goes on until all is searched, or the deadline has passed, or the stack is full.

        Args:
            deadline: when to end.
            visits: number of nodes times n + e to stop at, about.
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
