"""Find biconnected components: subgraphs that share single nodes, at which they come apart."""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import presolve as kernels


def blocks_of(
    nodes: int, edges: np.ndarray, stop: np.ndarray | None = None
) -> tuple[np.ndarray, int]:
    """Return the number of the block of every edge, `[e]`, and the number of blocks.

    Read from the last block to the first, each shares at most one node with all blocks before it.

    Args:
        nodes: number of nodes.
        edges: `[e, 2]`, distinct.
        stop: `[1]`, uint8; another thread may set it, and all edges are one block then.

    References:
        Hopcroft, Tarjan (1973), Algorithm 447: efficient algorithms for graph manipulation.
    """
    if stop is None:
        stop = np.zeros(1, np.uint8)
    block, count = kernels.blocks_of(nodes, np.ascontiguousarray(edges, np.int64), stop)
    return block, count


def numbered(nodes: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes that have edges, in order, and the edges `[e, 2]` in their numbers."""
    names, ends = kernels.numbered(nodes, np.ascontiguousarray(edges, np.int64))
    return names, ends
