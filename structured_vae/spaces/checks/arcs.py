"""Check the pairs of nodes that a caller gives."""

from __future__ import annotations

import numpy as np

from ...errors import StructureError, shortened
from .batches import integers
from .scores import EdgesLike


def arcs_of(edges: EdgesLike, name: str = "edges") -> np.ndarray:
    """Return the pairs `[n, 2]` as integers; nodes are numbered from 0.

    Args:
        edges: `[n, 2]`, a tensor, an array or lists.
        name: the name of the argument, for messages.

    Raises:
        StructureError: they are not an array of such pairs, or a pair joins a node with itself.
    """
    wanted = f"{name} must be pairs of nodes [n, 2], integers"
    arcs = integers(edges, wanted)
    if arcs.ndim != 2 or arcs.shape[-1] != 2:
        raise StructureError(f"{wanted}; got {shortened(edges)}")
    wrong = (arcs < 0).any(axis=1) | (arcs[:, 0] == arcs[:, 1])
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise StructureError(
            f"edge {place} must join two nodes, numbered from 0; it is {arcs[place].tolist()}"
        )
    return arcs.astype(np.int64)
