"""Orders of the vertices that keep a small frontier: those taken that have neighbours which are not.

Where min-fill takes a graph apart from all sides, these sweep over it. Their frontier bounds the pathwidth, and
eliminated from the last vertex to the first, no separator is larger than it. On lattices that are long, round or nested
it is far smaller than what min-fill leaves.

References:
    Kinnersley (1992), The vertex separation number of a graph equals its path-width.
"""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from ...limits.deadline import Deadline

STARTS = 16
"""Vertices that orders begin with."""


def frontier_order(
    starts: np.ndarray,
    near: np.ndarray,
    hub: int = -1,
    deadline: Deadline | None = None,
    most: float = np.inf,
) -> np.ndarray | None:
    """`[n]`, an order with a small frontier: greedy ones from several vertices, with and without layers.

    Layers begin with all vertices that are farthest from one, as the end of a cylinder is.

    Args:
        starts: `[n + 1]`, the first neighbour of each vertex.
        near: the neighbours, as `neighbour_lists` gives them.
        hub: a vertex that comes first, whatever its neighbours; -1 for none.
        deadline: after which no other order is tried.
        most: None is returned where no order has a smaller sum of 2^(size of the frontier).
    """
    n = len(starts) - 1
    best: np.ndarray | None = None
    alike = np.zeros(n, np.int64)
    for start in np.unique(np.linspace(0, n - 1, STARTS).astype(np.int64)):
        distance = _layers(starts, near, np.arange(n) == start, hub)
        layer = _layers(starts, near, distance == distance.max(), hub)
        for level, first in ((alike, start), (alike, np.argmax(distance)), (layer, np.argmin(layer))):
            if best is not None and deadline is not None and deadline.passed:
                return best
            order, total = _greedy(starts, near, level, first, hub, most)
            if total < most:
                best, most = order, total
    return best


@jit.strict
def _layers(starts, near, first, hub):
    """Steps from the vertices `first [n]` to every other one on ways that avoid the hub; -1 where there is no way."""
    n = len(first)
    layer, queue, tail = np.full(n, -1), np.empty(n, np.int64), 0
    for v in range(n):
        if first[v]:
            layer[v], queue[tail] = 0, v
            tail += 1
    head = 0
    while head < tail:
        v = queue[head]
        head += 1
        for k in range(starts[v], starts[v + 1]):
            u = near[k]
            if layer[u] < 0 and u != hub:
                layer[u], queue[tail] = layer[v] + 1, u
                tail += 1
    return layer


@jit.strict
def _greedy(starts, near, level, start, hub, most):
    """Takes next, of the lowest level, the vertex that leaves the smallest frontier, with the oldest neighbour.

    Vertices wait by level, those with a neighbour in the frontier before the others: they alone are looked at.

    Args:
        starts: first neighbour of each vertex.
        near: the neighbours.
        level: `[n]`.
        start: where to begin.
        hub: the vertex before it, or -1.
        most: a sum at which to give up.

    Returns:
        `[n]`, the order, and the sum of 2^(size of the frontier); infinity where it gave up.
    """
    n = len(starts) - 1
    order, age = np.empty(n, np.int64), np.full(n, n)
    untaken, taken = starts[1:] - starts[:-1], np.zeros(n, np.bool_)
    waiting = np.argsort(level)
    place, group = np.empty(n, np.int64), np.empty(n, np.int64)
    first, joined = np.empty(n + 1, np.int64), np.empty(n, np.int64)
    groups = 0
    for k in range(n):
        if k == 0 or level[waiting[k]] != level[waiting[k - 1]]:
            first[groups], joined[groups] = k, k
            groups += 1
        place[waiting[k]], group[waiting[k]] = k, groups - 1
    first[groups] = n
    ends = first[1:].copy()
    width, total, lowest = 0, 0.0, 0
    for count in range(n):
        while lowest < groups and first[lowest] == ends[lowest]:
            lowest += 1
        best, least, oldest = -1, n + 2, n + 1
        if hub >= 0 and count == 0:
            best = hub
        elif count == (hub >= 0) and start != hub:
            best = start
        else:
            end = max(
                joined[lowest], first[lowest] + 1
            )  # any other one, where none has a neighbour in the frontier
            for v in waiting[first[lowest] : end]:
                growth = 1 if untaken[v] else 0
                for k in range(starts[v], starts[v + 1]):
                    growth -= taken[near[k]] and untaken[near[k]] == 1
                if (growth, age[v], v) < (least, oldest, best):
                    best, least, oldest = v, growth, age[v]
        taken[best], order[count], own = True, best, group[best]
        if place[best] >= joined[own]:
            _swap(waiting, place, place[best], joined[own])
            joined[own] += 1
        _swap(waiting, place, place[best], first[own])
        first[own] += 1
        width += untaken[best] > 0
        for k in range(starts[best], starts[best + 1]):
            u = near[k]
            untaken[u] -= 1
            if taken[u]:
                width -= untaken[u] == 0
            elif best != hub and age[u] == n:
                age[u] = count
                _swap(waiting, place, place[u], joined[group[u]])
                joined[group[u]] += 1
        total += 2.0**width
        if total >= most:
            return order, np.inf
    return order, total


@jit.inlined
def _swap(waiting, place, a, b):
    u, v = waiting[a], waiting[b]
    waiting[a], waiting[b], place[u], place[v] = v, u, b, a
