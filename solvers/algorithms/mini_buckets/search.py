"""Search depth first, with bounds looked up in the tables of mini-buckets; all scores are int64.

The variables are assigned in the reverse of the elimination order. The bound of a partial
assignment is that of its parent, minus the loss of the new variable's mini-buckets by its state:
until then, their maxima over the variable counted as messages. If no bucket is split, nothing is
ever lost, and the first descent is optimal.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import mini_buckets as kernels
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ..precision.fixed_point import FixedPoint
from .plan import Layout

NANOSECONDS = 10
"""Approximate time per entry of the tables."""

UNFILLED = int(np.iinfo(np.int64).max)
"""The bound if the tables were not filled in time."""


class Search:
    """A depth-first search that can be stopped and resumed.

    Attributes:
        bound: an upper bound on every integer score; the score of z where `finished`.
    """

    def __init__(
        self,
        layout: Layout,
        scores: FixedPoint,
        z: np.ndarray,
        deadline: Deadline,
        bound: int | None = None,
    ):
        """Fill the tables; if the deadline ends that early, the search ends too.

        Args:
            layout: mini-buckets of the problem.
            scores: the problem, a single instance.
            z: `[n]`, an assignment to start from.
            deadline: when to end.
            bound: an upper bound from an earlier search.
        """
        self._scores = scores
        start = np.ascontiguousarray(z, np.int8)
        edges = scores.pairwise.shape[1]
        best = int(scores.score(start[None])[0])
        self._search = kernels.Search(*layout, state=start, best=best, edges=edges)
        with deadline.flag(1e-9 * NANOSECONDS * int(layout.tables[-1])) as stop:
            filled = self._search.fill(scores.unary[0], scores.pairwise[0], stop)
        self._cut_short = filled is None
        first_bound = UNFILLED
        if bound is not None:
            first_bound = bound
        self.bound = first_bound
        if filled is not None:
            self.bound = min(first_bound, filled)

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best assignment so far."""
        state: np.ndarray = self._search.state
        return state

    @property
    def cut_short(self) -> bool:
        """Whether the deadline ended the filling of the tables, so that no search is possible."""
        return self._cut_short

    @property
    def finished(self) -> bool:
        """Whether the search has ended with an optimality certificate."""
        return bool(self._search.finished)

    def _known(self) -> Known:
        bound = self.bound
        if self.finished:
            bound = int(self._search.best)
        return Known(self.z[None], self._scores.bound(np.array([bound])))

    def run(self, nodes: int | None, deadline: Deadline, nodes_a_call: int) -> None:
        """Continue for `nodes` nodes, or until the deadline."""
        if self.cut_short:
            return
        handled = 0
        while not self.finished and not deadline.passed and (nodes is None or handled < nodes):
            self._search.run(nodes_a_call)
            handled += nodes_a_call
            deadline.tell(self._known)
        # The search is complete, so the best score is the maximum.
        if self.finished:
            self.bound = self._search.best
