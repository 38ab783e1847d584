"""Random large parts of a graph that have a small width: what is left once some vertices are taken out."""

from __future__ import annotations

import numpy as np
from numba import njit

from .arrays import Edges
from .elimination_order import bit_matrix, members_of, remove

_jit = njit(cache=True, nogil=True)


def thinned_order(n: int, edges: Edges, width: int, generator: np.random.Generator) -> np.ndarray:
    """An order `[m]` in which m <= n of the vertices can be eliminated with separators of at most `width`.

    Vertices of least degree go first, ties at random; when all degrees exceed `width`, one of greatest degree
    is taken out of the graph.

    Args:
        n: number of vertices.
        edges: `[e, 2]`, distinct pairs.
        width: at least 0.
        generator: of the ties.
    """
    order = np.empty(n, np.int64)
    rank = generator.permutation(n)
    kept = _eliminate_or_take_out(bit_matrix(n, np.ascontiguousarray(edges, np.int64)), width, rank, order)
    return order[:kept]


@_jit
def _eliminate_or_take_out(adjacency, width, rank, order):
    """Writes the order and returns its length; consumes `adjacency`. `rank [n]` decides ties."""
    n = len(adjacency)
    neighbours, degree = np.empty(n, np.int64), np.empty(n, np.int64)
    for v in range(n):
        degree[v] = members_of(adjacency[v], neighbours)
    there = np.ones(n, np.bool_)
    kept = 0
    for _ in range(n):
        least = most = -1
        for v in range(n):
            if there[v]:
                if least < 0 or (degree[v], rank[v]) < (degree[least], rank[least]):
                    least = v
                if most < 0 or (degree[v], rank[v]) > (degree[most], rank[most]):
                    most = v
        chosen = least if degree[least] <= width else most
        there[chosen] = False
        count = members_of(adjacency[chosen], neighbours)
        if chosen == least:
            order[kept] = chosen
            kept += 1
            remove(adjacency, chosen, neighbours[:count])
        else:
            for u in neighbours[:count]:
                adjacency[u, chosen >> 6] &= ~(np.uint64(1) << np.uint64(chosen & 63))
        for u in neighbours[:count]:
            degree[u] = _size(adjacency[u])
    return kept


@_jit
def _size(row):
    count = 0
    for word in row:
        while word:
            word &= word - np.uint64(1)
            count += 1
    return count
