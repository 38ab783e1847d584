"""Derive the sides of vertices from fixed edges, which join them."""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import cycle_cuts as kernels
from ...compiled.plain import plain
from .separation import Graph, spanning_tree

FREE = -1


def rounded(graph: Graph, x: np.ndarray) -> np.ndarray:
    """Return the sides `[vertices]` int8 of a cut that follows edges near 0 and 1.

    It agrees with all edges of a spanning tree of these edges.

    References:
        Barahona, Grötschel, Jünger, Reinelt (1988), An application of combinatorial optimization to
        statistical physics and circuit layout design.
    """
    forest = spanning_tree(graph, np.argsort(-np.abs(x - 0.5), kind="stable"))
    sides: np.ndarray = kernels.sides_of(plain(x), *forest)
    return sides


def propagate(vertices: int, ends: np.ndarray, fixed: np.ndarray) -> bool:
    """Fix the edges between joined vertices; return False if fixed edges contradict each other.

    Args:
        vertices: number of vertices.
        ends: `[m, 2]`.
        fixed: `[m]` int8, 0, 1 or FREE, updated.
    """
    return bool(kernels.propagate(vertices, plain(ends), fixed))
