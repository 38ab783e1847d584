"""Build lists of neighbours."""

from __future__ import annotations

import numpy as np

from ._kernels import common as kernels


def neighbour_lists(n: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the neighbours of every vertex, stored one list after the other.

    Args:
        n: number of vertices.
        edges: `[e, 2]`, distinct pairs.

    Returns:
        `[n + 1]`, the start of every list; `[2 e]`, the neighbours; and `[2 e]`, the edges to them.
    """
    starts = np.empty(n + 1, np.int64)
    near = np.empty(2 * len(edges), np.int64)
    which = np.empty(2 * len(edges), np.int64)
    kernels.neighbour_lists(
        n, np.ascontiguousarray(edges, np.int64).reshape(-1, 2), starts, near, which
    )
    return starts, near, which


def sides_of(starts: np.ndarray, edge: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Return `[2 e]`, for each entry of `neighbour_lists` which end of its edge the owner is."""
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.asarray(edges[edge, 0] != owner, np.int64)
