"""A sparse flow graph as records: what belongs to a node, or to an arc, lies beside each other in memory."""

from __future__ import annotations

import numpy as np

from ...compiled import jit

NODE = np.dtype(
    [
        ("balance", np.int64),
        ("start", np.uint32),
        ("parent", np.uint32),
        ("level", np.int32),
        ("in_front", np.int32),
        ("next_orphan", np.uint32),
        ("unused", np.uint32),
    ]
)
"""Half a cache line. The arcs of node i are `start` of node i to that of node i + 1; the rest is for `trees`."""

ARC = np.dtype([("residual", np.int64), ("head", np.uint32), ("mate", np.uint32)])
"""`mate` is the opposite arc."""


@jit.strict
def connect(edges, nodes, arcs, edge):
    """Sets the arcs of a graph and where those of each node start.

    Args:
        edges: `[e, 2]`, e below 2^30.
        nodes: `[n + 1]` of `NODE`.
        arcs: `[2e]` of `ARC`.
        edge: `[2e]`, which edge each arc is of.
    """
    n = nodes.shape[0] - 1
    free = np.zeros(n + 1, np.uint32)
    for k in range(edges.shape[0]):
        free[edges[k, 0] + 1] += 1
        free[edges[k, 1] + 1] += 1
    for i in range(n):
        free[i + 1] += free[i]
    for i in range(n + 1):
        nodes[i].start = free[i]
    for k in range(edges.shape[0]):
        i, j = edges[k, 0], edges[k, 1]
        there, back = free[i], free[j]
        arcs[there].head, arcs[back].head = j, i
        arcs[there].mate, arcs[back].mate = back, there
        edge[there] = edge[back] = k
        free[i] += 1
        free[j] += 1
