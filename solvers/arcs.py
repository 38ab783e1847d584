"""The edges of a graph as arcs, those that leave a node beside each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int
from numba import njit

from .arrays import Edges


class Arcs(NamedTuple):
    """Two opposite arcs for every edge, ordered by tail; a tuple, as compiled kernels take no other class.

    Attributes:
        start: `[n + 1]`: the arcs of node i are start[i] .. start[i + 1] - 1.
        head: `[2e]`.
        mate: `[2e]`, the opposite arc.
        edge: `[2e]`, the edge that it is of.
    """

    start: Int[np.ndarray, "n+1"]
    head: Int[np.ndarray, "2*e"]
    mate: Int[np.ndarray, "2*e"]
    edge: Int[np.ndarray, "2*e"]


def arcs_of(edges: Edges, n: int) -> Arcs:
    """The arcs of a graph of n nodes.

    Args:
        edges: `[e, 2]`, e below 2^30.
        n: number of nodes.

    Example:
        >>> arcs_of(np.array([[0, 1], [0, 2]]), 3).head.tolist()
        [1, 2, 0, 0]
    """
    ends = np.ascontiguousarray(edges, np.uint32)
    degree = np.bincount(ends.ravel(), minlength=n)
    start = np.concatenate([[0], np.cumsum(degree)]).astype(np.uint32)
    arcs = Arcs(start, *(np.empty(2 * len(ends), np.uint32) for _ in range(3)))
    _fill(ends, start[:-1].copy(), arcs.head, arcs.mate, arcs.edge)
    return arcs


@njit(cache=True, nogil=True)
def _fill(ends, free, head, mate, edge):
    """Sets head, mate and edge; free [n] is the first place of each node that has no arc yet."""
    for k in range(ends.shape[0]):
        i, j = ends[k, 0], ends[k, 1]
        there, back = free[i], free[j]
        head[there], head[back] = j, i
        mate[there], mate[back] = back, there
        edge[there], edge[back] = k, k
        free[i] += 1
        free[j] += 1
