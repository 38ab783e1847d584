"""Solve label problems by depth-first branch and bound, in int64.

Messages along the edges bound the nodes of the search.

A child has one value of one variable, and its sibling the other values. Both continue with the
messages of their parent, so that a few sweeps suffice. The branching variable has few values, has
ended many branches, and has many neighbours with several values (dom/wdeg).

Labels that may be exchanged in all variables (`alike`) count as one value until a branch
distinguishes them.

An edge e = (i, j) sends m_i(a) to value a of i and m_j(b) to value b of j. The edge keeps T(a, b) -
m_i(a) - m_j(b). The unary scores of i and the messages to i add up to its field h_i(a). No
remaining score of an edge or field is above zero, since positive amounts are moved into the
constant. So the constant is a bound, and a state with value a of i scores at most constant +
h_i(a).

A sweep visits the variables in order. Each variable takes from its edges their maximum for each of
its values, and the largest total moves into the constant. Then it gives equal shares to its edges
to later variables. All numbers are int64 and all steps exact, so the bound holds to the last bit.

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
"""Maximum number of pairs of sweeps at the root, one in each direction."""

NANOSECONDS = 3.0
"""Nanoseconds for an entry of a message in a sweep; an entry of a table takes as long."""

VISITS_A_CALL = 1 << 20
"""Nodes times message entries in one call of the kernel, which takes some milliseconds."""

DEPTH = 16
"""Initial depth of the stack, if memory suffices."""

STACK_MEMORY = 1 << 30
"""Maximum bytes of the stack; a search that needs more stops without a proof."""


class LabelSearch:
    """Search for one instance, which can be stopped and resumed."""

    def __init__(self, scores: WholeScores, labels: np.ndarray | None = None):
        """Prepare the search without starting it.

        Args:
            scores: the scores of the instance.
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
        """The best labels so far, `[n]`; forbidden labels if no allowed ones were found."""
        labels: np.ndarray = self._search.labels
        return labels

    @property
    def finished(self) -> bool:
        """Whether the search is complete."""
        return bool(self._search.finished)

    @property
    def bound(self) -> float:
        """Upper bound on all scores; minus infinity if all assignments are forbidden."""
        whole = int(self._search.bound)
        if whole == self._below_all:
            return -np.inf
        return self._scores.bound(whole)

    def offer(self, labels: np.ndarray) -> None:
        """Replace the incumbent by labels `[n]` if they are better."""
        self._search.offer(np.ascontiguousarray(labels, np.int64))

    def run(self, deadline: Deadline, visits: float = np.inf) -> None:
        """Continue until the search is complete, the deadline has passed, or the stack is full.

        Args:
            deadline: time at which the search stops.
            visits: approximate number of nodes times message entries at which the search stops.
        """
        handled = 0
        # A call does about the same work for any size, so that the deadline is checked in time.
        at_once = max(1, VISITS_A_CALL // self._size)
        if self._search.fresh and not deadline.passed:
            # One long call. Until it ends, the bound of the root is valid, so that it can be read
            # meanwhile.
            with deadline.flag(self._root_seconds(), self._known) as stop:
                self._search.run(1, stop)
        if self.finished:
            return
        with deadline.flag() as stop:
            while not self.finished and not deadline.passed and handled * self._size < visits:
                if self._search.full:
                    # A deeper stack does not fit, so the search ends with the bound of its open
                    # nodes.
                    if 2 * self._search.bytes > STACK_MEMORY:
                        break
                    self._search.double_stack()
                handled += self._search.run(at_once, stop)
                deadline.tell(self._known)

    def _root_seconds(self) -> float:
        """Return the approximate seconds of the root bound if it runs all sweeps."""
        if len(self._scores.tables.weights):
            of_entry = 1
        else:
            of_entry = self._scores.unary.shape[1]
        return float(1e-9 * NANOSECONDS * 2 * ROOT_SWEEPS * self._size * of_entry)

    def _known(self) -> Known:
        """Return labels and bound so far; the labels have no score, since they may change."""
        return Known.of(self.labels, self.bound)
