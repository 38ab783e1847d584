"""Pairs of nodes as a caller gives them, checked."""

from __future__ import annotations

import numpy as np

from ..errors import StructureError, shortened
from .batches import integers
from .scores import EdgesLike


def arcs_of(edges: EdgesLike) -> np.ndarray:
    """`[n, 2]`: the pairs as integers, nodes from 0.

    Raises:
        StructureError: they are no such pairs, or join a node with itself.
    """
    wanted = "edges must be pairs of nodes [n, 2], integers"
    found = integers(edges, wanted)
    if found.ndim != 2 or found.shape[-1] != 2:
        raise StructureError(f"{wanted}; got {shortened(edges)}")
    if (found < 0).any() or (found[:, 0] == found[:, 1]).any():
        place = int(np.flatnonzero((found < 0).any(axis=1) | (found[:, 0] == found[:, 1]))[0])
        raise StructureError(
            f"edge {place} must join two nodes, numbered from 0; it is {found[place].tolist()}"
        )
    return found.astype(np.int64)
