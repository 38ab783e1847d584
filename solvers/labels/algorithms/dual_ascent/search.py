"""Depth-first branch and bound whose nodes are bounded by messages along the edges; all scores are int64.

A child has a part of the values of one variable, and its sibling the rest. Either goes on with the messages of its
parent, so that a few sweeps suffice. The variable is one of few values that has ended many branches (dom/wdeg).

References:
    Boussemart, Hemery, Lecoutre, Sais (2004), Boosting systematic search by weighting constraints.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....compiled import jit
from ....limits.deadline import Deadline
from ....limits.progress import Known
from ..whole_scores import WholeScores
from .decoding import ascend, decode, score_of
from .messages import Graph, Node, begin, keep, remove, sweep

ROOT_SWEEPS, SWEEPS = 500, 3
"""Pairs of sweeps at most, there and back."""

NANOSECONDS = 3.0
"""For an entry of a message, in a sweep; an entry of a table takes as long."""

ROOT_PART, PART = 1024, 32
"""Sweeps go on while they gain more than the gap divided by this."""

ASCENT = 20
"""Rounds of single changes after a sweep at the root."""

VISITS_A_CALL = 1 << 20
"""Nodes times entries of messages, some milliseconds: how finely the limit of work is kept."""

DEPTH = 16
"""Of the stack at first, where there is memory for it."""

STACK_MEMORY = 1 << 30
"""Bytes of the stack; a search that would need more stops, without a proof."""


class Stack(NamedTuple):
    """Nodes from the root to the current one: the arrays of `Node`, `[depth, ...]` each, and their bounds.

    Attributes:
        field: `[depth, n, k]`.
        message: `[depth, e, 2, k]`.
        values: `[depth, n, k]`.
        left: `[depth, n]`.
        done: `[depth, n]`.
        bound: `[depth]`.
    """

    field: np.ndarray
    message: np.ndarray
    values: np.ndarray
    left: np.ndarray
    done: np.ndarray
    bound: np.ndarray

    @classmethod
    def of(cls, n: int, k: int, e: int) -> Stack:
        """Room for some nodes."""
        depth = max(2, min(DEPTH, STACK_MEMORY // (2 * (10 * n * k + 16 * e * k + 9 * n))))
        shapes = (n, k), (e, 2, k), (n, k), (n,), (n,), ()
        kinds = np.int64, np.int64, np.uint16, np.int64, np.uint8, np.int64
        return cls(*(np.zeros((depth, *shape), kind) for shape, kind in zip(shapes, kinds, strict=True)))

    def doubled(self) -> Stack:
        """This stack with room for twice the depth."""
        return Stack(*(np.concatenate((array, np.empty_like(array))) for array in self))


class Notes(NamedTuple):
    """What the search knows beside its nodes.

    Attributes:
        best: `[1]`, the score of `labels`, or less than any where none are allowed.
        labels: `[n]`.
        trial: `[n]`.
        scratch: `[k]`.
        ended: `[n]`, how many branches ended at a visit of each variable, plus one.
        fresh: `[1]` uint8, whether the root is still to be bounded.
    """

    best: np.ndarray
    labels: np.ndarray
    trial: np.ndarray
    scratch: np.ndarray
    ended: np.ndarray
    fresh: np.ndarray


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
        self._scores, self._graph, self._stack = scores, Graph.of(scores), Stack.of(n, k, e)
        self._depth, self._size = 0, (n + 2 * e) * k
        self._nobody = scores.least - scores.step
        self._notes = Notes(
            np.array([self._nobody]),
            scores.unary.argmax(axis=1),
            np.zeros(n, np.int64),
            np.zeros(k, np.int64),
            np.ones(n),
            np.ones(1, np.uint8),
        )
        if labels is not None:
            self.offer(labels)
        root = Node(*(array[0] for array in self._stack[:-1]))
        self._stack.bound[0] = begin(scores.unary, scores.sizes, self._graph, root)

    @property
    def labels(self) -> np.ndarray:
        """`[n]`: the best so far; forbidden ones where no others were found."""
        return self._notes.labels

    @property
    def finished(self) -> bool:
        """Whether everything was searched."""
        return self._depth < 0

    @property
    def bound(self) -> float:
        """No score is larger; minus infinity where all assignments are forbidden."""
        best = int(self._notes.best[0])
        whole = int(self._stack.bound[: self._depth + 1].max(initial=best))
        return -np.inf if whole == self._nobody else self._scores.bound(whole)

    def offer(self, labels: np.ndarray) -> None:
        """Takes labels `[n]` where they are better than its own."""
        score = score_of(self._scores.unary, self._graph, labels)
        if score > self._notes.best[0]:
            self._notes.best[0], self._notes.labels[:] = score, labels

    def run(self, deadline: Deadline, visits: float = np.inf) -> None:
        """Goes on until all is searched, or the deadline has passed, or the stack is full.

        Args:
            deadline: when to end.
            visits: number of nodes times entries of messages to stop at, about.
        """
        handled, at_once = 0, max(1, VISITS_A_CALL // self._size)
        if self._notes.fresh[0] and not deadline.passed:
            # One long call. Until it ends the bound of the root is that of all, so that it can be read meanwhile.
            with deadline.flag(self._root_seconds(), self._known) as stop:
                self._go_on(1, stop)
        if self.finished:
            return
        with deadline.flag() as stop:
            while not self.finished and not deadline.passed and handled * self._size < visits:
                if self._depth + 1 == len(self._stack.bound):
                    if 2 * sum(array.nbytes for array in self._stack) > STACK_MEMORY:
                        break
                    self._stack = self._stack.doubled()
                handled += self._go_on(at_once, stop)
                deadline.tell(self._known)

    def _root_seconds(self) -> float:
        """What the bound of the root takes, about, where no sweep is left out."""
        of_entry = 1 if len(self._scores.tables.weights) else self._scores.unary.shape[1]
        return float(1e-9 * NANOSECONDS * 2 * ROOT_SWEEPS * self._size * of_entry)

    def _go_on(self, nodes: int, stop: np.ndarray) -> int:
        """Handles up to so many nodes; returns how many."""
        scores = self._scores
        arrays = self._graph, scores.unary, scores.sizes, self._stack, self._notes
        self._depth, handled = search(*arrays, self._depth, scores.step, nodes, stop)
        return int(handled)

    def _known(self) -> Known:
        """The labels may change while they are read: who hears of them scores them."""
        return Known.of(self.labels.copy(), self.bound)


@jit.strict
def search(graph, unary, sizes, stack, notes, depth, step, nodes, stop):
    """Handles up to `nodes` nodes, as far as the stack reaches.

    Args:
        graph: of the problem.
        unary: `[n, k]`.
        sizes: `[n]`.
        stack: the path to the node at `depth`.
        notes: which are changed.
        depth: where to go on.
        step: a better score is better by so much.
        nodes: at least 1.
        stop: `[1]` uint8; the search ends once it is set.

    Returns:
        The depth at which to go on, -1 when all is searched; and the nodes handled.
    """
    handled = 0
    while depth >= 0 and handled < nodes and depth + 1 < len(stack.bound) and not stop[0]:
        handled += 1
        _tighten(graph, unary, sizes, stack, depth, notes, step, stop)
        if stack.bound[depth] < notes.best[0] + step:
            depth -= 1
        elif not stop[0]:
            _branch(graph, stack, depth, notes)
            depth += 1
    return depth, handled


@jit.strict_inner
def _at(stack, depth):
    return Node(
        stack.field[depth], stack.message[depth], stack.values[depth], stack.left[depth], stack.done[depth]
    )


@jit.strict_inner
def _tighten(graph, unary, sizes, stack, depth, notes, step, stop):
    """Sweeps there and back while it pays; the labels that come with it may be the best so far."""
    node, fresh = _at(stack, depth), notes.fresh[0] != 0
    notes.fresh[0] = 0
    part = ROOT_PART if fresh else PART
    for _ in range(ROOT_SWEEPS if fresh else SWEEPS):
        before = stack.bound[depth]
        for forward in (True, False):
            cut = notes.best[0] + step - 1
            stack.bound[depth], where = sweep(
                graph, node, forward, stack.bound[depth], cut, notes.scratch, stop
            )
            if where >= 0:
                notes.ended[where] += 1
                return
            if stop[0] and not fresh:
                return
            _note(graph, unary, sizes, node, forward, notes, fresh, stop)
        if stop[0] or before - stack.bound[depth] <= (stack.bound[depth] - notes.best[0]) // part:
            return


@jit.strict_inner
def _note(graph, unary, sizes, node, forward, notes, fresh, stop):
    """Reads labels off the messages."""
    decode(graph, node, forward, notes.trial, notes.scratch)
    if fresh:
        ascend(unary, graph, sizes, notes.trial, ASCENT, notes.scratch, stop)
    score = score_of(unary, graph, notes.trial)
    if score > notes.best[0]:
        notes.best[0] = score
        notes.labels[:] = notes.trial


@jit.strict_inner
def _branch(graph, stack, depth, notes):
    """Writes a child behind its parent, which keeps the other values."""
    stack.field[depth + 1] = stack.field[depth]
    stack.message[depth + 1] = stack.message[depth]
    stack.values[depth + 1] = stack.values[depth]
    stack.left[depth + 1] = stack.left[depth]
    stack.done[depth + 1] = stack.done[depth]
    stack.bound[depth + 1] = stack.bound[depth]
    parent, child = _at(stack, depth), _at(stack, depth + 1)
    i = _chosen(parent, notes)
    place = _best_place(i, parent)
    keep(i, place, place + 1, graph, child)
    remove(i, place, place + 1, graph, parent)


@jit.strict_inner
def _chosen(node, notes):
    """The variable with the fewest values for the branches that it has ended."""
    chosen, least = 0, np.inf
    for i in range(len(node.left)):
        if node.left[i] > 1 and node.left[i] / notes.ended[i] < least:
            chosen, least = i, node.left[i] / notes.ended[i]
    return chosen


@jit.strict_inner
def _best_place(i, node):
    best = 0
    for p in range(1, node.left[i]):
        if node.field[i, node.values[i, p]] > node.field[i, node.values[i, best]]:
            best = p
    return best
