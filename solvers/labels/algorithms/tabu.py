"""Tabu search with changes of one label: what gets labels out of where no single change, and no cut, helps.

A forbidden value, or pair of values, counts as a score so low that few others make it good, so that a search may pass
through forbidden labels, and find allowed ones where it began with others.

References:
    Glover (1989), Tabu search, part I.
    Lourenço, Martin, Stützle (2003), Iterated local search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit
from ...compiled.random import below, random_bits, seeded
from ...limits.deadline import Deadline
from .dual_ascent.messages import Graph, score
from .whole_scores import WholeScores

STEPS_A_VARIABLE = 100
"""Of a search, where they are not too many."""

LOOKS = 1 << 28
"""At changes, at most: some tenths of a second. Problems with fewer steps than variables are left to cuts."""

NANOSECONDS = 1.0
"""Of a look."""

STALLED = 300
"""So many steps without better labels, and the search goes on from the best, with a part of them changed."""

CHANGED = 0.02
"""The part."""

TENURE = 10
"""Steps for which a variable does not come back to a value, at least."""


class State(NamedTuple):
    """Where a search is.

    Attributes:
        labels: `[n]`.
        best: `[n]`.
        field: `[n, k]`, the score of every value given the labels of the others.
        until: `[n, k]`, the step before which a variable does not come back to a value.
    """

    labels: np.ndarray
    best: np.ndarray
    field: np.ndarray
    until: np.ndarray


def tabu_until(scores: WholeScores, labels: np.ndarray, deadline: Deadline) -> np.ndarray:
    """`[n]`: the best labels met on a walk from others, which may be these.

    Args:
        scores: of the instance.
        labels: `[n]`, allowed or not.
        deadline: when to end.
    """
    (n, k), graph = scores.unary.shape, Graph.of(scores)
    steps = min(STEPS_A_VARIABLE * n, LOOKS // (n * k))
    if steps < n:
        return labels
    low = -((1 << 61) // (n + len(scores.tables.pairs)))  # the sum of all scores stays within 64 bits
    state = State(labels.copy(), labels.copy(), np.empty((n, k), np.int64), np.zeros((n, k), np.int64))
    with deadline.flag(1e-9 * NANOSECONDS * steps * n * k) as stop:
        _walk(graph, scores.unary, scores.sizes, state, low, steps, seeded(0), stop)
    return state.best


@jit.strict
def _walk(graph, unary, sizes, state, low, steps, random, stop):
    """Takes up to so many steps, each the best that is not tabu.

    Args:
        graph: of the problem.
        unary: `[n, k]`.
        sizes: `[n]`.
        state: whose labels are where to start; the others are set.
        low: the score of what is forbidden.
        steps: at most.
        random: `[1]`, the state of a stream.
        stop: `[1]` uint8; the walk ends once it is set.
    """
    _fill(graph, unary, sizes, state, low)
    gained, most, better = np.int64(0), np.int64(0), 0
    for step in range(1, steps + 1):
        if stop[0]:
            return
        if step - better > STALLED:
            state.labels[:] = state.best
            _fill(graph, unary, sizes, state, low)
            gained, better = most + _shake(graph, sizes, state, low, random), step
        i, a = _best_change(sizes, state, step, most - gained, random)
        if i < 0:
            continue
        state.until[i, state.labels[i]] = (
            step + TENURE + below(TENURE + len(sizes) // 10, random_bits(random))
        )
        gained += _change(graph, sizes, state, low, i, a)
        if gained > most:
            most, better = gained, step
            state.best[:] = state.labels


@jit.strict_inner
def _fill(graph, unary, sizes, state, low):
    """Sets the field of the labels."""
    for i in range(len(sizes)):
        for a in range(sizes[i]):
            state.field[i, a] = max(low, unary[i, a])
        for place in range(graph.starts[i], graph.starts[i + 1]):
            e, side, b = graph.edge[place], graph.side[place], state.labels[graph.near[place]]
            for a in range(sizes[i]):
                state.field[i, a] += max(low, score(graph, e, side, a, b))


@jit.strict_inner
def _change(graph, sizes, state, low, i, a):
    """Gives variable i the value a; returns by how much the score rises."""
    before = state.labels[i]
    state.labels[i] = a
    for place in range(graph.starts[i], graph.starts[i + 1]):
        e, side, j = graph.edge[place], graph.side[place], graph.near[place]
        for b in range(sizes[j]):
            state.field[j, b] += max(low, score(graph, e, side, a, b)) - max(
                low, score(graph, e, side, before, b)
            )
    return state.field[i, a] - state.field[i, before]


@jit.strict_inner
def _shake(graph, sizes, state, low, random):
    """Gives a part of the variables other values; returns by how much the score rises, which is mostly not."""
    gained, n = np.int64(0), len(sizes)
    for _ in range(max(2, int(CHANGED * n))):
        i = below(n, random_bits(random))
        gained += _change(graph, sizes, state, low, i, below(sizes[i], random_bits(random)))
    return gained


@jit.strict_inner
def _best_change(sizes, state, step, short, random):
    """Variable and value of the greatest gain; a tabu one only if it gains more than is short of the best; (-1, 0)."""
    chosen, value, most = -1, 0, np.int64(-(1 << 62))
    n = len(sizes)
    first = below(n, random_bits(random))
    for turn in range(n):
        i = first + turn if first + turn < n else first + turn - n
        own = state.field[i, state.labels[i]]
        for a in range(sizes[i]):
            gain = state.field[i, a] - own
            if gain > most and a != state.labels[i] and (state.until[i, a] < step or gain > short):
                chosen, value, most = i, a, gain
    return chosen, value
