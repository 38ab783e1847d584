"""Violated odd-cycle inequalities: a spanning tree finds many at once, shortest paths find one if there is one.

An edge costs x outside of F and 1 - x in F; the inequality of a cycle is violated where it costs less than 1.
Two copies of the graph, joined by the edges in F, turn odd cycles through a vertex into paths between its copies. A
cycle with a chord costs one less than the two cycles that the chord makes of it, one of which is violated too.

References:
    Barahona, Mahjoub (1986), On the cut polytope.
    Barahona, Grötschel, Jünger, Reinelt (1988), An application of combinatorial optimization to statistical physics
    and circuit layout design.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...compiled import jit
from ...compiled.graphs import neighbour_lists
from .certificate import Cycles

GO_ON = np.zeros(1, np.uint8)
"""The flag of a search without an end."""

VIOLATED = 1e-5
"""Least violation that counts: the linear program's own tolerance is 1e-7."""


class Graph(NamedTuple):
    """Neighbours of every vertex, with the edges to them."""

    starts: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, vertices: int, edges: np.ndarray) -> Graph:
        """The graph of `edges [m, 2]`."""
        ends = np.ascontiguousarray(edges)
        starts, near, edge = neighbour_lists(vertices, ends)
        return cls(starts, near, edge, ends)


class Found(NamedTuple):
    """Violated inequalities, none twice.

    Attributes:
        cycles: k inequalities.
        violation: `[k]`.
    """

    cycles: Cycles
    violation: np.ndarray

    def best(self, most: int) -> Found:
        """The most violated, relative to their length."""
        if len(self.cycles) <= most:
            return self
        order = np.argsort(-self.violation / np.sqrt(self.cycles.lengths), kind="stable")[:most]
        return Found(self.cycles.take(order), self.violation[order])


def tree_cycles(graph: Graph, x: np.ndarray, stop: np.ndarray = GO_ON) -> Found:
    """Cycles of a spanning tree whose edges are near 0 or 1, and one more edge; those found until `stop[0]`."""
    parent, link, depth = spanning_tree(graph, np.argsort(-np.abs(x - 0.5), kind="stable"))
    return _distinct(*_room(fundamental_cycles, graph, x, parent, link, depth, stop))


def shortest_cycles(graph: Graph, x: np.ndarray, sources: np.ndarray, stop: np.ndarray = GO_ON) -> Found:
    """A cheapest odd cycle through every source that has a violated one; those found until `stop[0]`."""
    return _distinct(*_room(cheapest_cycles, graph, x, sources, stop))


def _room(kernel: Callable[..., int], graph: Graph, *arguments: np.ndarray) -> tuple[np.ndarray, ...]:
    """Calls a kernel with more and more room for its answer."""
    size = 1 << 16
    while True:
        out_edges, out_odd = np.empty(size, np.int64), np.empty(size, np.bool_)
        out_starts, cost, mark = np.zeros(size + 1, np.int64), np.empty(size), np.empty(size, np.int64)
        count = kernel(graph, *arguments, out_edges, out_odd, out_starts, cost, mark)
        if count >= 0:
            starts = out_starts[: count + 1]
            return starts, out_edges[: starts[-1]], out_odd[: starts[-1]], cost[:count], mark[:count]
        size *= 4


def _distinct(
    starts: np.ndarray, edges: np.ndarray, odd: np.ndarray, cost: np.ndarray, mark: np.ndarray
) -> Found:
    first = np.sort(np.unique(mark, return_index=True)[1])
    first = first[cost[first] < 1.0 - VIOLATED / 2]
    return Found(Cycles(starts, edges, odd).take(first), 1.0 - cost[first])


@jit.strict
def spanning_tree(graph, order):
    """The forest that takes edges in `order [m]`, as parents, edges to them (-1 at roots) and depths."""
    n, m = len(graph.starts) - 1, len(order)
    root = np.arange(n)
    chosen = np.zeros(m, np.bool_)
    for k in range(m):
        a, b = graph.ends[order[k], 0], graph.ends[order[k], 1]
        while root[a] != a:
            root[a] = root[root[a]]
            a = root[a]
        while root[b] != b:
            root[b] = root[root[b]]
            b = root[b]
        if a != b:
            root[a] = b
            chosen[order[k]] = True
    parent, link, depth = np.full(n, -1), np.full(n, -1), np.full(n, -1)
    queue = np.empty(n, np.int64)
    for r in range(n):
        if depth[r] >= 0:
            continue
        depth[r], queue[0], head, tail = 0, r, 0, 1
        while head < tail:
            v = queue[head]
            head += 1
            for k in range(graph.starts[v], graph.starts[v + 1]):
                u = graph.near[k]
                if chosen[graph.edge[k]] and depth[u] < 0:
                    parent[u], link[u], depth[u] = v, graph.edge[k], depth[v] + 1
                    queue[tail] = u
                    tail += 1
    return parent, link, depth


@jit.strict
def fundamental_cycles(graph, x, parent, link, depth, stop, out_edges, out_odd, out_starts, cost, mark):
    """Writes the violated cycles of the forest; returns their number, or -1 where there is no room.

    F are the edges of x > 1/2, and the one next to 1/2 is moved where those are even.
    """
    n, m, count = len(parent), len(x), 0
    walk, sides = np.empty(n + 1, np.int64), np.empty(n + 1, np.bool_)
    nodes, place = np.empty(n + 1, np.int64), np.full(n, -1)
    for e in range(m):
        if stop[0]:
            break
        a, b = graph.ends[e, 0], graph.ends[e, 1]
        if link[a] == e or link[b] == e:
            continue
        total, odd, nearest = 0.0, False, -1
        walk[0], size, back = e, 1, n
        while a != b:
            if depth[a] > depth[b]:
                back -= 1
                walk[back], a = link[a], parent[a]
            else:
                walk[size], b = link[b], parent[b]
                size += 1
        for k in range(back, n):
            walk[size] = walk[k]
            size += 1
        for k in range(size):
            side = x[walk[k]] > 0.5
            sides[k] = side
            total += min(x[walk[k]], 1.0 - x[walk[k]])
            odd ^= side
            if nearest < 0 or abs(x[walk[k]] - 0.5) < abs(x[walk[nearest]] - 0.5):
                nearest = k
        if not odd:
            sides[nearest] = not sides[nearest]
            total += abs(2.0 * x[walk[nearest]] - 1.0)
        if total > 1.0 - VIOLATED:
            continue
        _visit(graph, graph.ends[e, 0], walk, nodes, size)
        count = _write(
            graph, x, walk, sides, nodes, size, place, out_edges, out_odd, out_starts, cost, mark, count
        )
        if count < 0:
            return -1
    return count


@jit.strict
def _visit(graph, v, walk, nodes, size):
    """Writes the vertex before each edge of a walk from v."""
    for k in range(size):
        nodes[k] = v
        v = graph.ends[walk[k], 0] + graph.ends[walk[k], 1] - v


@jit.strict
def _write(graph, x, walk, sides, nodes, size, place, out_edges, out_odd, out_starts, cost, mark, count):
    """Writes a simple cycle after its chords were used up; returns the new count, or -1 where there is no room."""
    size = _without_chords(graph, x, walk, sides, nodes, size, place)
    start = out_starts[count]
    if start + size > len(out_edges) or count + 1 >= len(cost):
        return -1
    total, code = 0.0, np.int64(0)
    for k in range(size):
        e = walk[k]
        out_edges[start + k], out_odd[start + k] = e, sides[k]
        total += 1.0 - x[e] if sides[k] else x[e]
        code ^= _scrambled(2 * e + sides[k])
    cost[count], mark[count], out_starts[count + 1] = total, code, start + size
    return count + 1


@jit.strict
def _scrambled(number):
    """A hash of 63 bits (splitmix64)."""
    h = np.uint64(number) + np.uint64(0x9E3779B97F4A7C15)
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((h ^ (h >> np.uint64(31))) >> np.uint64(1))


@jit.strict
def _without_chords(graph, x, walk, sides, nodes, size, place):
    """Cuts a violated cycle at the chord that leaves the cheapest one, until it has none; returns its length."""
    before, parity = np.empty(size + 1), np.empty(size + 1, np.bool_)
    while size > 3:
        before[0], parity[0] = 0.0, False
        for k in range(size):
            place[nodes[k]] = k
            before[k + 1] = before[k] + (1.0 - x[walk[k]] if sides[k] else x[walk[k]])
            parity[k + 1] = parity[k] ^ sides[k]
        cheapest, first, last, chord, inside, side = 2.0, 0, 0, -1, True, False
        for k in range(size):
            for t in range(graph.starts[nodes[k]], graph.starts[nodes[k] + 1]):
                l = place[graph.near[t]]
                if l <= k + 1 or (k == 0 and l == size - 1):
                    continue
                e = graph.edge[t]
                arc, odd = before[l] - before[k], parity[l] ^ parity[k]
                here = arc + (x[e] if odd else 1.0 - x[e])
                there = before[size] - arc + (1.0 - x[e] if odd else x[e])
                if min(here, there) < cheapest:
                    cheapest, first, last, chord = min(here, there), k, l, e
                    inside = here <= there
                    side = (not odd) if inside else odd
        for k in range(size):
            place[nodes[k]] = -1
        if chord < 0:
            break
        if inside:
            kept = last - first
            for k in range(kept):
                walk[k], sides[k], nodes[k] = walk[first + k], sides[first + k], nodes[first + k]
            walk[kept], sides[kept], nodes[kept] = chord, side, graph.ends[chord].sum() - nodes[0]
            size = kept + 1
        else:
            walk[first], sides[first] = chord, side
            for k in range(last, size):
                to = first + 1 + k - last
                walk[to], sides[to], nodes[to] = walk[k], sides[k], nodes[k]
            size = first + 1 + size - last
    return size


@jit.strict
def cheapest_cycles(graph, x, sources, stop, out_edges, out_odd, out_starts, cost, mark):
    """Writes a cheapest odd cycle through every source; returns their number, or -1 where there is no room.

    A path to the other copy is as cheap as the way back, so both halves are found from one side: no label beyond half
    the cheapest path is needed.
    """
    n, count = len(graph.starts) - 1, 0
    distance, link = np.full(2 * n, np.inf), np.full(2 * n, -1)
    settled = np.zeros(2 * n, np.bool_)
    touched = np.empty(2 * n, np.int64)
    heap_key, heap_node = np.empty(len(x) * 4 + 2), np.empty(len(x) * 4 + 2, np.int64)
    walk, sides = np.empty(4 * n + 2, np.int64), np.empty(4 * n + 2, np.bool_)
    nodes, place = np.empty(4 * n + 2, np.int64), np.full(n, -1)
    for source in sources:
        if stop[0]:
            break
        distance[source], touched[0], reached = 0.0, source, 1
        heap_key[0], heap_node[0], heap = 0.0, source, 1
        cheapest, meet, bridge = 1.0 - VIOLATED, -1, -1
        while heap:
            d, v = heap_key[0], heap_node[0]
            heap = _pop(heap_key, heap_node, heap)
            if settled[v]:
                continue
            if 2.0 * d >= cheapest:
                break
            settled[v] = True
            copy, u = (n, v - n) if v >= n else (0, v)
            for k in range(graph.starts[u], graph.starts[u + 1]):
                e = graph.edge[k]
                for cross in range(2):
                    w = graph.near[k] + (copy if cross == 0 else n - copy)
                    length = d + (max(0.0, x[e]) if cross == 0 else max(0.0, 1.0 - x[e]))
                    if length >= cheapest:
                        continue
                    mirror = w - n if w >= n else w + n
                    if length + distance[mirror] < cheapest:
                        cheapest, meet, bridge = length + distance[mirror], v, 2 * k + cross
                    if length < distance[w]:
                        if distance[w] == np.inf:
                            touched[reached] = w
                            reached += 1
                        distance[w], link[w] = length, 2 * k + cross
                        heap = _push(heap_key, heap_node, heap, length, w)
        if meet >= 0:
            size = _walk(graph, n, link, source, meet, bridge, walk, sides, nodes)
            size = _simple(walk, sides, nodes, size, place)
            if size > 2:
                count = _write(
                    graph,
                    x,
                    walk,
                    sides,
                    nodes,
                    size,
                    place,
                    out_edges,
                    out_odd,
                    out_starts,
                    cost,
                    mark,
                    count,
                )
                if count < 0:
                    return -1
        for k in range(reached):
            distance[touched[k]], link[touched[k]], settled[touched[k]] = np.inf, -1, False
    return count


@jit.strict
def _back(graph, n, arc, v):
    """The vertex of the doubled graph from which an arc comes to v."""
    e = graph.edge[arc >> 1]
    u = v - n if v >= n else v
    copy = v - u
    other = graph.ends[e, 0] + graph.ends[e, 1] - u
    return other + (copy if arc & 1 == 0 else n - copy)


@jit.strict
def _walk(graph, n, link, source, meet, bridge, walk, sides, nodes):
    """Writes the closed walk source - meet - bridge - source; returns its length."""
    size, v = 0, meet
    while v != source:
        walk[size], sides[size] = graph.edge[link[v] >> 1], link[v] & 1 == 1
        v = _back(graph, n, link[v], v)
        size += 1
    for k in range(size // 2):
        other = size - 1 - k
        walk[k], walk[other] = walk[other], walk[k]
        sides[k], sides[other] = sides[other], sides[k]
    e = graph.edge[bridge >> 1]
    walk[size], sides[size] = e, bridge & 1 == 1
    size += 1
    u = meet - n if meet >= n else meet
    far = graph.near[bridge >> 1] + ((meet - u) if bridge & 1 == 0 else n - (meet - u))
    v = far - n if far >= n else far + n
    while v != source:
        walk[size], sides[size] = graph.edge[link[v] >> 1], link[v] & 1 == 1
        v = _back(graph, n, link[v], v)
        size += 1
    _visit(graph, source, walk, nodes, size)
    return size


@jit.strict
def _simple(walk, sides, nodes, size, place):
    """Leaves a simple cycle with odd F of a closed walk with odd F; returns its length."""
    kept = 0
    for k in range(size + 1):
        v = nodes[k] if k < size else nodes[0]
        if place[v] >= 0:
            first, odd = place[v], False
            for l in range(first, kept):
                odd ^= sides[l]
            if odd:
                for l in range(kept):
                    place[nodes[l]] = -1
                for l in range(first, kept):
                    walk[l - first], sides[l - first], nodes[l - first] = walk[l], sides[l], nodes[l]
                return kept - first
            for l in range(first + 1, kept):
                place[nodes[l]] = -1
            kept = first
        if k < size:
            walk[kept], sides[kept], nodes[kept] = walk[k], sides[k], v
            place[v] = kept
            kept += 1
    for l in range(kept):
        place[nodes[l]] = -1
    return 0


@jit.strict
def _push(key, node, size, k, v):
    i = size
    while i > 0 and key[(i - 1) >> 1] > k:
        key[i], node[i] = key[(i - 1) >> 1], node[(i - 1) >> 1]
        i = (i - 1) >> 1
    key[i], node[i] = k, v
    return size + 1


@jit.strict
def _pop(key, node, size):
    size -= 1
    k, v, i = key[size], node[size], 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and key[child + 1] < key[child]:
            child += 1
        if key[child] >= k:
            break
        key[i], node[i] = key[child], node[child]
        i = child
    key[i], node[i] = k, v
    return size
