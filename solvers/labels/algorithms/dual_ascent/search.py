"""Solve label problems by depth-first branch and bound, in int64.

Messages along the edges bound the nodes of the search.

A child has one value of one variable, and its sibling the other values. Either continues with the
messages of its parent, so that a few sweeps suffice. The variable is one of few values that has
ended many branches (dom/wdeg).

Labels that may be exchanged in all variables (`alike`) count as one value until a branch tells them
apart.

An edge e = (i, j) hands m_i(a) to value a of i and m_j(b) to b of j, which leaves it with T(a, b) -
m_i(a) - m_j(b). With what it is handed, i has the field h_i(a). Nothing that is left, of an edge or
of a field, is above zero: what was above went into the constant. So the constant is a bound, and a
value of i cannot lead above constant + h_i(a).

A sweep visits the variables in turn. Each takes from its edges what they can win at most with each
of its values, and the largest sum of these goes into the constant. Then it gives equal shares to
the edges that lead on. All numbers are int64 and all steps exact, so the bound holds to the last
bit.

References:
    Boussemart, Hemery, Lecoutre, Sais (2004), Boosting systematic search by weighting constraints.
    Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
    Kolmogorov (2015), A new look at reweighted message passing.
    Cooper, de Givry, Sanchez, Schiex, Zytnicki, Werner (2010), Soft arc consistency revisited.
"""

from __future__ import annotations

import numpy as np

from ....compiled._kernels import labels as kernels
from ....compiled.plain import plain
from ....limits.deadline import Deadline
from ....limits.progress import Known
from ..whole_scores import WholeScores
from .alike import alike_labels
from .graph import graph_of

ROOT_SWEEPS = 500
"""Pairs of sweeps at the root at most, there and back."""

NANOSECONDS = 3.0
"""For an entry of a message, in a sweep; an entry of a table takes as long."""

VISITS_A_CALL = 1 << 20
"""Nodes times entries of messages, some milliseconds: how finely the limit of work is kept."""

DEPTH = 16
"""Of the stack at first, where there is memory for it."""

STACK_MEMORY = 1 << 30
"""Bytes of the stack; a search that would need more stops, without a proof."""


class LabelSearch:
    """A search for one instance that can be stopped and resumed."""

    def __init__(self, scores: WholeScores, labels: np.ndarray | None = None):
        """Does no search yet.

        Args:
            scores: of the instance.
            labels: `[n]` to start from.
        """
        n, k = scores.unary.shape
        e = len(scores.tables.pairs)
        self._scores = scores
        self._size = (n + 2 * e) * k
        self._below_all = scores.least - scores.step
        # The bytes of one level of the stack, all levels within STACK_MEMORY.
        depth = max(2, min(DEPTH, STACK_MEMORY // (2 * (10 * n * k + 16 * e * k + 9 * n))))
        unary = plain(scores.unary)
        sizes = np.ascontiguousarray(scores.sizes, np.int64)
        self._search = kernels.Search(
            graph_of(scores),
            unary,
            sizes,
            alike_labels(scores),
            self._below_all,
            scores.step,
            depth,
        )
        if labels is not None:
            self.offer(labels)

    @property
    def labels(self) -> np.ndarray:
        """`[n]`: the best so far; forbidden ones where no others were found."""
        labels: np.ndarray = self._search.labels
        return labels

    @property
    def finished(self) -> bool:
        """Whether everything was searched."""
        return bool(self._search.finished)

    @property
    def bound(self) -> float:
        """No score is larger; minus infinity where all assignments are forbidden."""
        whole = int(self._search.bound)
        if whole == self._below_all:
            return -np.inf
        return self._scores.bound(whole)

    def offer(self, labels: np.ndarray) -> None:
        """Takes labels `[n]` where they are better than its own."""
        self._search.offer(np.ascontiguousarray(labels, np.int64))

    def run(self, deadline: Deadline, visits: float = np.inf) -> None:
        """Continue until all is searched, or the deadline has passed, or the stack is full.

        Args:
            deadline: when to end.
            visits: number of nodes times entries of messages to stop at, about.
        """
        handled = 0
        # A call does about the same work for any size, so that the deadline is looked at in time.
        at_once = max(1, VISITS_A_CALL // self._size)
        if self._search.fresh and not deadline.passed:
            # One long call. Until it ends the bound of the root is that of all, so that it can be
            # read meanwhile.
            with deadline.flag(self._root_seconds(), self._known) as stop:
                self._search.run(1, stop)
        if self.finished:
            return
        with deadline.flag() as stop:
            while not self.finished and not deadline.passed and handled * self._size < visits:
                if self._search.full:
                    # A deeper stack does not fit: the search
                    # ends here with the bound of its open nodes.
                    if 2 * self._search.bytes > STACK_MEMORY:
                        break
                    self._search.double_stack()
                handled += self._search.run(at_once, stop)
                deadline.tell(self._known)

    def _root_seconds(self) -> float:
        """What the bound of the root takes, about, where no sweep is left out."""
        if len(self._scores.tables.weights):
            of_entry = 1
        else:
            of_entry = self._scores.unary.shape[1]
        return float(1e-9 * NANOSECONDS * 2 * ROOT_SWEEPS * self._size * of_entry)

    def _known(self) -> Known:
        """The labels may change while they are read: who hears of them scores them."""
        return Known.of(self.labels, self.bound)
