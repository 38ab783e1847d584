"""Connected components within groups of vertices."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def clusters(edges, group):
    """The connected components of the graph without the edges between vertices of different groups.

    Args:
        edges: `[e, 2]`.
        group: `[n]`, the number of every vertex' group.

    Returns:
        `[n]`, the component of every vertex, numbered by their first vertices; and how many there are.
    """
    n = len(group)
    parent = np.arange(n)
    for e in range(len(edges)):
        i, j = edges[e]
        if group[i] == group[j]:
            i, j = _root(parent, i), _root(parent, j)
            parent[max(i, j)] = min(i, j)
    number, count = np.empty(n, np.int64), 0
    for i in range(n):
        if parent[i] == i:
            number[i] = count
            count += 1
        else:
            number[i] = number[parent[i]]
    return number, count


@njit(cache=True, nogil=True)
def _root(parent, i):
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return i
