"""Depth-first branch and bound whose nodes are bounded by messages along the edges; all scores are int64.

A child goes on with the messages of its parent, so that a few sweeps suffice. The branching variable is that of the
strongest free edges: without it the rest of a sparse graph soon falls into trees, on which the bounds are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import States
from ...compiled import jit
from ...compiled.best import Best, in_order, take
from ...compiled.graphs import neighbour_lists, sides_of
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ..precision.fixed_point import FixedPoint
from .messages import FREE, Graph, field_of, fix, sweep

ROOT_SWEEPS, SWEEPS = 100, 3
"""Pairs of sweeps at most, there and back."""

ROOT_PART, PART = 64, 32
"""Sweeps go on while they gain more than the gap divided by this."""

ROOT_VISITS = 1 << 22
"""Sweeps at the root times n + e: less than a second."""

VISITS_A_CALL = 1 << 17
"""Nodes times n + e, some milliseconds: how finely the time limit is kept."""

DEPTH = 16
"""Of the stack at first, where there is memory for it."""

NANOSECONDS = 8
"""Of a visit, about."""

STACK_MEMORY = 1 << 30
"""Bytes of the stack; a search that would need more stops, without a proof."""


class Stack(NamedTuple):
    """Nodes from the root to the current one.

    Attributes:
        state: `[depth, n]` int8, 0, 1 or FREE.
        field: `[depth, n]`.
        message: `[depth, e, 2]`.
        constant: `[depth]`, score of what is fixed.
        bound: `[depth]`.
        variable: `[depth]`, to branch on.
        value: `[depth]`, the first value to try.
        tried: `[depth]`, how many values were.
    """

    state: np.ndarray
    field: np.ndarray
    message: np.ndarray
    constant: np.ndarray
    bound: np.ndarray
    variable: np.ndarray
    value: np.ndarray
    tried: np.ndarray

    @classmethod
    def of(cls, unary: np.ndarray, pairwise: np.ndarray) -> Stack:
        """The root, with no message sent."""
        n, e = len(unary), len(pairwise)
        depth = max(2, min(DEPTH, STACK_MEMORY // (16 * (n + e))))
        numbers = (np.zeros(depth, np.int64) for _ in range(5))
        arrays = (
            np.empty((depth, n), np.int8),
            np.empty((depth, n), np.int64),
            np.empty((depth, e, 2), np.int64),
        )
        stack = cls(*arrays, *numbers)
        stack.state[0], stack.field[0], stack.message[0] = FREE, unary, 0
        stack.bound[0] = np.maximum(unary, 0).sum() + np.maximum(pairwise, 0).sum()
        return stack

    def doubled(self) -> Stack:
        """This stack with room for twice the depth."""
        return Stack(*(np.concatenate((array, np.empty_like(array))) for array in self))


class DualSearch:
    """A search for the best assignments of one instance that can be stopped and resumed."""

    def __init__(self, scores: FixedPoint, known: np.ndarray, count: int = 1):
        """Does no search yet.

        Args:
            scores: a single instance.
            known: `[known, n]`, at least `count` assignments to start from, none of them twice; or `[n]`, a single one.
            count: how many are wanted.
        """
        known = np.atleast_2d(known)
        joined = scores.pairwise[0] != 0  # a pair without a score would go unnoticed among free variables
        n, edges, pairwise = scores.unary.shape[1], scores.edges[joined], scores.pairwise[0, joined]
        starts, near, edge = neighbour_lists(n, edges)
        self._graph = Graph(starts, near, edge, sides_of(starts, edge, edges), pairwise)
        self._stack, self._depth = Stack.of(scores.unary[0], pairwise), 0
        self._size = n + len(edges)
        self._scores, self._best = scores, Best.of(known, scores.score(known), count)

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best assignment so far."""
        return np.asarray(self.states[0])

    @property
    def states(self) -> States:
        """`[count, n]` int8, the best so far, the best first."""
        return in_order(self._best)

    @property
    def finished(self) -> bool:
        """Whether everything was searched."""
        return self._depth < 0

    @property
    def bound(self) -> int:
        """No integer score is larger, but those of `states`."""
        open_, last = self._depth + 1, int(self._best.scores[-1])
        pending = self._stack.bound[:open_][self._stack.tried[:open_] < 2]
        return max(last, int(pending.max(initial=last)))

    def offer(self, z: np.ndarray) -> None:
        """Takes an assignment `[n]` where it is better than the last of its own."""
        take(self._best, self._scores.score(z[None])[0], z.astype(np.int8))

    def run(self, deadline: Deadline, visits: float = np.inf) -> None:
        """Goes on until all is searched, or the deadline has passed, or the stack is full.

        Args:
            deadline: when to end.
            visits: number of nodes times n + e to stop at, about.
        """
        with deadline.flag(1e-9 * NANOSECONDS * min(visits, 2 * ROOT_SWEEPS * self._size)) as stop:
            self._run(deadline, visits, stop)

    def _known(self) -> Known:
        bound = max(self.bound, int(self._best.scores[0]))
        return Known(self.z[None], self._scores.bound(np.array([bound])))

    def _run(self, deadline: Deadline, visits: float, stop: np.ndarray) -> None:
        handled, at_once = 0, max(1, VISITS_A_CALL // self._size)
        while not self.finished and not deadline.passed and handled * self._size < visits:
            if self._depth + 1 == len(self._stack.bound):
                if 2 * sum(array.nbytes for array in self._stack) > STACK_MEMORY:
                    break
                self._stack = self._stack.doubled()
            self._depth, more = search(self._graph, self._stack, self._depth, self._best, at_once, stop)
            handled += more
            deadline.tell(self._known)


@jit.strict
def search(graph, stack, depth, best, nodes, stop):
    """Handles up to `nodes` nodes, as far as the stack reaches.

    Args:
        graph: of the problem.
        stack: the path to the node at `depth`, which is still to be bounded if `tried` is 0 there.
        depth: where to go on.
        best: the best assignments, updated.
        nodes: at least 1.
        stop: `[1]` uint8; the search ends once it is set.

    Returns:
        The depth at which to go on, -1 when all is searched; and the nodes handled.
    """
    handled = 0
    while depth >= 0 and handled < nodes and depth + 1 < len(stack.bound) and not stop[0]:
        if stack.tried[depth] == 0:
            handled += 1
            _tighten(graph, stack, depth, best.scores[-1], stop)
            if stack.bound[depth] > best.scores[-1] and not _choose(
                graph, stack, depth, len(best.scores) > 1
            ):
                z = np.where(stack.state[depth] == FREE, stack.field[depth] > 0, stack.state[depth])
                take(best, stack.bound[depth], z.astype(np.int8))
                stack.tried[depth] = 2
        if stack.tried[depth] == 2 or stack.bound[depth] <= best.scores[-1]:
            depth -= 1
        else:
            _branch(graph, stack, depth)
            depth += 1
    return depth, handled


@jit.strict_inner
def _tighten(graph, stack, depth, known, stop):
    """Sweeps there and back while it pays."""
    state, field, message = stack.state[depth], stack.field[depth], stack.message[depth]
    constant, bound = stack.constant[depth], stack.bound[depth]
    part, sweeps = PART, SWEEPS
    if depth == 0:
        part, sweeps = ROOT_PART, max(SWEEPS, min(ROOT_SWEEPS, ROOT_VISITS // (len(state) + len(message))))
    for _ in range(sweeps):
        before = bound
        for forward in (True, False):
            if bound > known and not stop[0]:
                constant, bound = sweep(graph, state, field, message, forward, constant, bound, known)
        if before - bound <= (bound - known) // part:
            break
    stack.constant[depth], stack.bound[depth] = constant, bound


@jit.strict_inner
def _choose(graph, stack, depth, several):
    """Chooses the variable to branch on and its first value; False where no edge is left between free ones.

    Where several assignments are wanted, other values of these count too: there it is False where none is left.
    """
    state, field, message = stack.state[depth], stack.field[depth], stack.message[depth]
    strongest = 0
    for i in range(len(state)):
        if state[i] == FREE:
            total, strength = field_of(i, graph, state, field, message)
            if strength > strongest:
                strongest = strength
                stack.variable[depth], stack.value[depth] = i, total > 0
    if strongest == 0 and several:
        return _choose_single(stack, depth)
    return strongest > 0


@jit.strict_inner
def _choose_single(stack, depth):
    """Of free variables without edges the one with the longest field; False where there is none."""
    state, field, longest = stack.state[depth], stack.field[depth], -1
    for i in range(len(state)):
        if state[i] == FREE and abs(field[i]) > longest:
            longest = abs(field[i])
            stack.variable[depth], stack.value[depth] = i, field[i] > 0
    return longest >= 0


@jit.strict_inner
def _branch(graph, stack, depth):
    """Writes the next child behind its parent."""
    child, i = depth + 1, stack.variable[depth]
    value = stack.value[depth] ^ stack.tried[depth]
    stack.tried[depth] += 1
    stack.state[child], stack.field[child] = stack.state[depth], stack.field[depth]
    stack.message[child] = stack.message[depth]
    gained, change = fix(i, value, graph, stack.state[child], stack.field[child], stack.message[child])
    stack.constant[child], stack.bound[child] = stack.constant[depth] + gained, stack.bound[depth] + change
    stack.tried[child] = 0
