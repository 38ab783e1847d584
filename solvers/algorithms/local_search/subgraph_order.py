"""Draw random large subgraphs of small width, by removing some vertices of a graph."""

from __future__ import annotations

import numpy as np

from ...arrays import Edges
from ...compiled._kernels import local_search as kernels
from ...compiled.random import random_states


def subgraph_order(n: int, edges: Edges, width: int, generator: np.random.Generator) -> np.ndarray:
    """Return an order `[m]` that eliminates m <= n vertices with separators of at most `width`.

    Vertices of least degree go first, with ties broken at random. When all degrees exceed `width`,
    a vertex of greatest degree is removed from the graph.

    Args:
        n: number of vertices.
        edges: `[e, 2]`, distinct pairs.
        width: at least 0.
        generator: generator that breaks ties.
    """
    state = int(random_states(1, generator)[0])
    order: np.ndarray = kernels.subgraph_order(
        n, np.ascontiguousarray(edges, np.int64), width, state
    )
    return order
