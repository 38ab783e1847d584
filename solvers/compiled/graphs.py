"""Lists of neighbours."""

from __future__ import annotations

import numpy as np

from . import jit


@jit.strict
def neighbour_lists(n, edges):
    """The neighbours of every vertex, one list behind the other.

    Args:
        n: number of vertices.
        edges: `[e, 2]`, distinct pairs.

    Returns:
        `[n + 1]`, the start of every list; `[2 e]`, the neighbours; and `[2 e]`, the edges to them.
    """
    starts = np.zeros(n + 1, np.int64)
    for e in range(len(edges)):
        starts[edges[e, 0] + 1] += 1
        starts[edges[e, 1] + 1] += 1
    starts = np.cumsum(starts)
    end = starts.copy()
    near, which = np.empty(2 * len(edges), np.int64), np.empty(2 * len(edges), np.int64)
    for e in range(len(edges)):
        for side in range(2):
            v = edges[e, side]
            near[end[v]], which[end[v]] = edges[e, 1 - side], e
            end[v] += 1
    return starts, near, which


def sides_of(starts: np.ndarray, edge: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """`[2 e]`: which end of its edge the owner of each entry of `neighbour_lists` is, 0 or 1."""
    owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    return np.asarray(edges[edge, 0] != owner, np.int64)
