"""Random large parts of a graph that have a small width: what is left once some vertices are taken out."""

from __future__ import annotations

import numpy as np

from ...arrays import Edges
from ...compiled._kernels import local_search as kernels
from ...compiled.random import random_states


def subgraph_order(n: int, edges: Edges, width: int, generator: np.random.Generator) -> np.ndarray:
    """An order `[m]` in which m <= n of the vertices can be eliminated with separators of at most `width`.

    Vertices of least degree go first, ties at random; when all degrees exceed `width`, one of
    greatest degree is taken out of the graph.

    Args:
        n: number of vertices.
        edges: `[e, 2]`, distinct pairs.
        width: at least 0.
        generator: of the ties.
    """
    state = int(random_states(1, generator)[0])
    order: np.ndarray = kernels.subgraph_order(
        n, np.ascontiguousarray(edges, np.int64), width, state
    )
    return order
