"""Biconnected components: parts of a graph that share single nodes, at which they come apart."""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from ...compiled.graphs import neighbour_lists


@jit.strict
def blocks_of(nodes, edges):
    """The block of every edge, `[e]`, and how many there are.

    Read from the last one to the first, each shares at most one node with all before it.

    Args:
        nodes: how many there are.
        edges: `[e, 2]`, distinct.

    References:
        Hopcroft, Tarjan (1973), Algorithm 447: efficient algorithms for graph manipulation.
    """
    starts, near, which = neighbour_lists(nodes, edges)
    place, reached = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    step, entered_by = starts[:-1].copy(), np.full(nodes, -1)
    path, passed = np.empty(nodes, np.int64), np.empty(len(edges), np.int64)
    block = np.full(len(edges), -1)
    blocks, clock, passes = 0, 0, 0
    for root in range(nodes):
        if place[root]:
            continue
        clock += 1
        place[root] = reached[root] = clock
        path[0], depth = root, 0
        while depth >= 0:
            v = path[depth]
            if step[v] < starts[v + 1]:
                k = step[v]
                step[v] += 1
                w, edge = near[k], which[k]
                if edge == entered_by[v] or place[w] > place[v]:
                    continue  # seen from its other end
                passed[passes] = edge
                passes += 1
                if place[w]:
                    reached[v] = min(reached[v], place[w])
                    continue
                clock += 1
                place[w] = reached[w] = clock
                entered_by[w] = edge
                depth += 1
                path[depth] = w
                continue
            depth -= 1
            if depth < 0:
                continue
            u = path[depth]
            reached[u] = min(reached[u], reached[v])
            if reached[v] >= place[u]:  # nothing below v leads above u
                while True:
                    passes -= 1
                    block[passed[passes]] = blocks
                    if passed[passes] == entered_by[v]:
                        break
                blocks += 1
    return block, blocks


@jit.strict
def numbered(nodes, edges):
    """The nodes that have edges, in their order, and the edges between their places in it."""
    place = np.full(nodes, -1)
    for k in range(len(edges)):
        place[edges[k, 0]] = place[edges[k, 1]] = 0
    names = np.flatnonzero(place == 0)
    for k in range(len(names)):
        place[names[k]] = k
    ends = np.empty_like(edges)
    for k in range(len(edges)):
        ends[k, 0], ends[k, 1] = place[edges[k, 0]], place[edges[k, 1]]
    return names, ends
