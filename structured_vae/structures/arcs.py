"""Pairs of nodes as a caller gives them, checked."""

from __future__ import annotations

import numpy as np
import torch

from ..errors import StructureError, shortened
from .batches import is_dense
from .scores import EdgesLike


def arcs_of(edges: EdgesLike) -> np.ndarray:
    """`[n, 2]`: the pairs as integers, nodes from 0.

    Raises:
        StructureError: they are no such pairs, or join a node with itself.
    """
    if isinstance(edges, torch.Tensor) and not is_dense(edges):
        raise StructureError(f"edges must be dense; got {edges.layout} on {edges.device}")
    try:
        found = np.asarray(edges.cpu() if isinstance(edges, torch.Tensor) else edges)
    except (ValueError, TypeError, OverflowError) as error:
        raise StructureError(f"edges must be pairs of nodes [n, 2]; got {shortened(edges)}") from error
    if (
        found.ndim != 2
        or found.shape[-1] != 2
        or not len(found)
        or not np.issubdtype(found.dtype, np.integer)
    ):
        raise StructureError(f"edges must be pairs of nodes [n, 2], integers; got {shortened(edges)}")
    if (found < 0).any() or (found[:, 0] == found[:, 1]).any():
        place = int(np.flatnonzero((found < 0).any(axis=1) | (found[:, 0] == found[:, 1]))[0])
        raise StructureError(
            f"edge {place} must join two nodes, numbered from 0; it is {found[place].tolist()}"
        )
    return found.astype(np.int64)
