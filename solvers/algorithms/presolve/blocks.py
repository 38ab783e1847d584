"""Biconnected components: parts of a graph that share single nodes, at which they come apart."""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import presolve as kernels


def blocks_of(nodes: int, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the block of every edge, `[e]`, and how many there are.

    Read from the last block to the first, each shares at most one node with all before it.

    Args:
        nodes: how many there are.
        edges: `[e, 2]`, distinct.

    References:
        Hopcroft, Tarjan (1973), Algorithm 447: efficient algorithms for graph manipulation.
    """
    block, count = kernels.blocks_of(nodes, np.ascontiguousarray(edges, np.int64))
    return block, count


def numbered(nodes: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes that have edges, in their order, and the edges `[e, 2]` between their places in it."""
    names, ends = kernels.numbered(nodes, np.ascontiguousarray(edges, np.int64))
    return names, ends
