"""What fixed edges say of others: vertices joined by fixed edges have their sides told by one of them."""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from .separation import Graph, spanning_tree

FREE = -1


def rounded(graph: Graph, x: np.ndarray) -> np.ndarray:
    """`[vertices]` int8: the sides of a cut that agrees with the edges of a spanning tree nearest to 0 and 1.

    References:
        Barahona, Grötschel, Jünger, Reinelt (1988), An application of combinatorial optimization to statistical
        physics and circuit layout design.
    """
    parent, link, depth = spanning_tree(graph, np.argsort(-np.abs(x - 0.5), kind="stable"))
    return np.asarray(sides_of_tree(x, parent, link, depth))


@jit.strict
def sides_of_tree(x, parent, link, depth):
    """The sides of vertices of a forest, whose edges have different ends where x > 1/2."""
    n = len(parent)
    side = np.zeros(n, np.int8)
    for v in np.argsort(depth):
        if link[v] >= 0:
            side[v] = side[parent[v]] ^ (x[link[v]] > 0.5)
    return side


@jit.strict
def propagate(vertices, ends, fixed):
    """Fixes the edges between vertices that fixed edges join; False where those contradict each other.

    Args:
        vertices: their number.
        ends: `[m, 2]`.
        fixed: `[m]` int8, 0, 1 or FREE, updated.
    """
    root, side = np.arange(vertices), np.zeros(vertices, np.int8)
    for e in range(len(fixed)):
        if fixed[e] == FREE:
            continue
        a, b = _find(root, side, ends[e, 0]), _find(root, side, ends[e, 1])
        different = side[ends[e, 0]] ^ side[ends[e, 1]] ^ fixed[e]
        if a != b:
            root[a], side[a] = b, different
        elif different:
            return False
    for e in range(len(fixed)):
        if fixed[e] == FREE and _find(root, side, ends[e, 0]) == _find(root, side, ends[e, 1]):
            fixed[e] = side[ends[e, 0]] ^ side[ends[e, 1]]
    return True


@jit.strict
def _find(root, side, v):
    """The root of v, made its parent; `side` is that of a vertex seen from its parent, 0 at roots."""
    top, seen = v, np.int8(0)
    while root[top] != top:
        seen ^= side[top]
        top = root[top]
    while root[v] != v:
        above, across = root[v], side[v]
        root[v], side[v] = top, seen
        seen ^= across
        v = above
    return top
