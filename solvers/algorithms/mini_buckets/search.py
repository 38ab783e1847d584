"""Depth-first search whose bounds are looked up in the tables of mini-buckets; all scores are int64.

Assigning the variables in the reverse of the elimination order, the bound of a partial assignment
is that of its parent less what the mini-buckets of the new variable lose by its state: their maxima
over the variable were the messages that counted so far. Where no bucket is split nothing is ever
lost and the first descent is optimal.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import mini_buckets as kernels
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ..precision.fixed_point import FixedPoint
from .plan import Layout

NANOSECONDS = 10
"""Of an entry of the tables, about."""

UNFILLED = int(np.iinfo(np.int64).max)
"""The bound where the tables could not be filled."""


class Search:
    """A search that can be stopped and resumed.

    Attributes:
        bound: on every integer score; that of z where `finished`.
    """

    def __init__(
        self,
        layout: Layout,
        scores: FixedPoint,
        z: np.ndarray,
        deadline: Deadline,
        bound: int | None = None,
    ):
        """Fills the tables; where the deadline cuts that short, there is no more to search.

        Args:
            layout: mini-buckets of the problem.
            scores: the problem, a single instance.
            z: `[n]`, an assignment to start from.
            deadline: when to end.
            bound: known already.
        """
        self._scores = scores
        start = np.ascontiguousarray(z, np.int8)
        edges = scores.pairwise.shape[1]
        best = int(scores.score(start[None])[0])
        self._search = kernels.Search(*layout, state=start, best=best, edges=edges)
        with deadline.flag(1e-9 * NANOSECONDS * int(layout.tables[-1])) as stop:
            filled = self._search.fill(scores.unary[0], scores.pairwise[0], stop)
        self._cut_short = filled is None
        known = UNFILLED if bound is None else bound
        self.bound = known if filled is None else min(known, filled)

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best assignment so far."""
        state: np.ndarray = self._search.state
        return state

    @property
    def cut_short(self) -> bool:
        """Whether the tables are not filled, so that nothing can be searched."""
        return self._cut_short

    @property
    def finished(self) -> bool:
        """Whether everything was searched."""
        return bool(self._search.finished)

    def _known(self) -> Known:
        bound = self._search.best if self.finished else self.bound
        return Known(self.z[None], self._scores.bound(np.array([bound])))

    def run(self, nodes: int | None, deadline: Deadline, nodes_a_call: int) -> None:
        """Continue for so many nodes, or until the deadline."""
        if self.cut_short:
            return
        handled = 0
        while not self.finished and not deadline.passed and (nodes is None or handled < nodes):
            self._search.run(nodes_a_call)
            handled += nodes_a_call
            deadline.tell(self._known)
        if self.finished:
            self.bound = self._search.best
