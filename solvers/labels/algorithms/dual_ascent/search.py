"""Depth-first branch and bound whose nodes are bounded by messages along the edges; all scores are int64.

A node either gives a variable one of its values or takes this value away. It goes on with the messages of its parent,
so that a few sweeps suffice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....compiled import jit
from ....deadline import Deadline
from ..whole_scores import FORBIDDEN, WholeScores
from .messages import IMPOSSIBLE, Graph, Node, begin, normalise, sweep

ROOT_SWEEPS, SWEEPS = 200, 3
"""Pairs of sweeps at most, there and back."""

ROOT_PART, PART = 256, 32
"""Sweeps go on while they gain more than the gap divided by this."""

VISITS_A_CALL = 1 << 20
"""Nodes times entries of fields and messages: how finely the time limit is kept."""

DEPTH = 16
STACK_MEMORY = 1 << 30


class Stack(NamedTuple):
    field: np.ndarray
    message: np.ndarray
    values: np.ndarray
    count: np.ndarray
    left: np.ndarray
    done: np.ndarray
    constant: np.ndarray
    visited: np.ndarray

    @classmethod
    def of(cls, n: int, k: int, e: int) -> Stack:
        bytes_ = 8 * n * k + 16 * e * k + 3 * n * k + 9 * n
        depth = max(2, min(DEPTH, STACK_MEMORY // (2 * bytes_)))
        return cls(
            np.empty((depth, n, k), np.int64),
            np.empty((depth, e, 2, k), np.int64),
            np.empty((depth, n, k), np.int16),
            np.empty((depth, n), np.int64),
            np.empty((depth, n, k), np.uint8),
            np.empty((depth, n), np.uint8),
            np.zeros(depth, np.int64),
            np.zeros(depth, np.int64),
        )

    def doubled(self) -> Stack:
        return Stack(*(np.concatenate((array, np.empty_like(array))) for array in self))


class Notes(NamedTuple):
    """What the search learns.

    margin [n], conflicts [n] , scratch [k], trial [n], best_labels [n], best [1]
    """
    margin: np.ndarray
    conflicts: np.ndarray
    scratch: np.ndarray
    trial: np.ndarray
    labels: np.ndarray
    best: np.ndarray


class LabelSearch:
    def __init__(self, scores: WholeScores, labels: np.ndarray | None, least: int):
        n, k = scores.unary.shape
        self._scores, self._graph = scores, Graph.of(scores)
        self._unary = np.maximum(scores.unary, FORBIDDEN)
        self._stack, self.depth = Stack.of(n, k, len(scores.tables.pairs)), 0
        self._size = (n + 2 * len(scores.tables.pairs)) * k
        self.notes = Notes(
            np.zeros(n, np.int64), np.ones(n), np.empty(k, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
            np.array([least - 1]),
        )
        self.nodes = 0
        if labels is not None:
            self.offer(labels)
        root = Node(*(array[0] for array in self._stack[:6]))
        self._stack.constant[0] = begin(self._unary, scores.sizes, self._graph, root)

    def offer(self, labels: np.ndarray) -> None:
        score = self._scores.score(labels)
        if score > self.notes.best[0]:
            self.notes.best[0], self.notes.labels[:] = score, labels

    @property
    def finished(self) -> bool:
        return self.depth < 0

    @property
    def bound(self) -> int:
        best = int(self.notes.best[0])
        return max(best, int(self._stack.constant[: self.depth + 1].max(initial=best)))

    def run(self, deadline: Deadline, visits: float = np.inf) -> None:
        with deadline.flag() as stop:
            handled, at_once = 0, max(1, VISITS_A_CALL // self._size)
            while not self.finished and not deadline.passed and handled * self._size < visits:
                if self.depth + 1 == len(self._stack.constant):
                    if 2 * sum(array.nbytes for array in self._stack) > STACK_MEMORY:
                        break
                    self._stack = self._stack.doubled()
                self.depth, more = search(
                    self._graph, self._unary, self._stack, self.depth, self.notes, self._scores.step, at_once, stop
                )
                handled += more
                self.nodes += more


@jit.strict
def search(graph, unary, stack, depth, notes, step, nodes, stop):
    handled = 0
    while depth >= 0 and handled < nodes and depth + 1 < len(stack.constant) and not stop[0]:
        handled += 1
        node = _at(stack, depth)
        _tighten(graph, unary, node, stack, depth, notes, step, stop)
        if stop[0]:
            break
        if stack.constant[depth] <= notes.best[0] + step - 1:
            depth -= 1
            continue
        i = _choose(graph, node, notes)
        child = depth + 1
        _copy(stack, depth, child)
        a = _best_value(i, node)
        _keep(i, a, _at(stack, child))
        _remove(i, a, node)
        stack.visited[child] = 0
        stack.visited[depth] += 1
        depth = child
    return depth, handled


@jit.strict_inner
def _at(stack, depth):
    return Node(stack.field[depth], stack.message[depth], stack.values[depth], stack.count[depth], stack.left[depth], stack.done[depth])


@jit.strict_inner
def _copy(stack, depth, child):
    stack.field[child] = stack.field[depth]
    stack.message[child] = stack.message[depth]
    stack.values[child] = stack.values[depth]
    stack.count[child] = stack.count[depth]
    stack.left[child] = stack.left[depth]
    stack.done[child] = stack.done[depth]
    stack.constant[child] = stack.constant[depth]


@jit.strict_inner
def _tighten(graph, unary, node, stack, depth, notes, step, stop):
    root = depth == 0 and stack.visited[0] == 0
    constant = stack.constant[depth]
    for turn in range(ROOT_SWEEPS if root else SWEEPS):
        before = constant
        for forward in (True, False):
            cut = notes.best[0] + step - 1
            constant, where = sweep(graph, node, forward, constant, cut, notes.margin, notes.scratch)
            if where >= 0:
                notes.conflicts[where] += 1
                stack.constant[depth] = constant
                return
            score = decode(graph, unary, node, forward, notes.trial, notes.scratch)
            if score > notes.best[0]:
                notes.best[0] = score
                notes.labels[:] = notes.trial
            if stop[0]:
                stack.constant[depth] = constant
                return
        stack.constant[depth] = constant
        if before - constant <= (constant - notes.best[0]) // (ROOT_PART if root else PART):
            break


@jit.strict_inner
def decode(graph, unary, node, forward, labels, scratch):
    n = len(labels)
    total = 0
    for step in range(n):
        i = n - 1 - step if forward else step
        for p in range(node.count[i]):
            scratch[p] = node.field[i, node.values[i, p]]
        if node.count[i] > 1:
            for place in range(graph.starts[i], graph.starts[i + 1]):
                j, e, side = graph.near[place], graph.edge[place], graph.side[place]
                if node.done[j] or (j > i) != forward:
                    continue
                b = labels[j]
                for p in range(node.count[i]):
                    a = node.values[i, p]
                    scratch[p] = max(2 * IMPOSSIBLE, scratch[p] + _score(graph, e, side, a, b) - node.message[e, side, a] - node.message[e, 1 - side, b])
        best = 0
        for p in range(1, node.count[i]):
            if scratch[p] > scratch[best]:
                best = p
        labels[i] = node.values[i, best]
        total += unary[i, labels[i]]
    for i in range(n):
        for place in range(graph.starts[i], graph.starts[i + 1]):
            if graph.side[place] == 0:
                more = _score(graph, graph.edge[place], 0, labels[i], labels[graph.near[place]])
                if more <= IMPOSSIBLE:
                    return 2 * IMPOSSIBLE
                total += more
    return total


@jit.strict_inner
def _score(graph, e, side, a, b):
    if len(graph.weights):
        return graph.weights[e] if a == b else np.int64(0)
    return graph.tables[side, graph.table_of[e], a, b]


@jit.strict_inner
def _choose(graph, node, notes):
    chosen, least = -1, 0.0
    for i in range(len(node.count)):
        if node.count[i] > 1:
            rank = node.count[i] / notes.conflicts[i]
            if chosen < 0 or rank < least:
                chosen, least = i, rank
    return chosen


@jit.strict_inner
def _best_value(i, node):
    best = node.values[i, 0]
    for p in range(1, node.count[i]):
        a = node.values[i, p]
        if node.field[i, a] > node.field[i, best]:
            best = a
    return best


@jit.strict_inner
def _keep(i, a, node):
    node.values[i, 0] = a
    node.count[i] = 1
    node.left[i, :] = 0
    node.left[i, a] = 1


@jit.strict_inner
def _remove(i, a, node):
    kept = 0
    for p in range(node.count[i]):
        if node.values[i, p] != a:
            node.values[i, kept] = node.values[i, p]
            kept += 1
    node.count[i] = kept
    node.left[i, a] = 0
