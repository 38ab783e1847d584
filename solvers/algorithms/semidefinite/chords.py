"""Choose pairs without an edge over which odd cycles become triangles."""

from __future__ import annotations

import numpy as np

CHORDS = 80
"""Maximum number of chords, per vertex."""


def chords(vertices: int, edges: np.ndarray) -> np.ndarray:
    """Return the pairs `[k, 2]` without an edge that have the most common neighbours.

    Args:
        vertices: number of vertices.
        edges: `[m, 2]`, distinct pairs.
    """
    adjacent = np.zeros((vertices, vertices), np.float32)
    adjacent[edges[:, 0], edges[:, 1]] = 1.0
    adjacent[edges[:, 1], edges[:, 0]] = 1.0
    # The square of the adjacency matrix counts common neighbours.
    common = adjacent @ adjacent
    common[adjacent > 0] = 0.0
    first, second = np.nonzero(np.triu(common, 1))
    most = CHORDS * vertices
    if len(first) > most:
        kept = np.argpartition(-common[first, second], most)[:most]
        first = first[kept]
        second = second[kept]
    return np.stack((first, second), axis=1)
