"""Orders of the vertices that keep a small frontier: those taken that have neighbours which are not.

Where min-fill takes a graph apart from all sides, these sweep over it. Their frontier bounds the
pathwidth, and eliminated from the last vertex to the first, no separator is larger than it. On
lattices that are long, round or nested it is far smaller than what min-fill leaves.

References:
    Kinnersley (1992), The vertex separation number of a graph equals its path-width.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import elimination as kernels
from ...limits.deadline import Deadline

STARTS = 16
"""Vertices that orders begin with."""


def frontier_order(
    starts: np.ndarray,
    near: np.ndarray,
    hub: int = -1,
    deadline: Deadline | None = None,
    most: float = np.inf,
) -> np.ndarray | None:
    """`[n]`, an order with a small frontier: greedy ones from several vertices, with and without layers.

    Layers begin with all vertices that are farthest from one, as the end of a cylinder is.

    Args:
        starts: `[n + 1]`, the first neighbour of each vertex.
        near: the neighbours, as `neighbour_lists` gives them.
        hub: a vertex that comes first, whatever its neighbours; -1 for none.
        deadline: after which no other order is tried.
        most: None is returned where no order has a smaller sum of 2^(size of the frontier).
    """
    n = len(starts) - 1
    best: np.ndarray | None = None
    alike = np.zeros(n, np.int64)
    distance, layer = np.empty(n, np.int64), np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    for start in np.unique(np.linspace(0, n - 1, STARTS).astype(np.int64)).tolist():
        kernels.distances(starts, near, start, hub, distance)
        kernels.layers(starts, near, distance, hub, layer)
        far, end = int(np.argmax(distance)), int(np.argmin(layer))
        for level, first in ((alike, start), (alike, far), (layer, end)):
            if best is not None and deadline is not None and deadline.passed:
                return best
            total = kernels.sweep(starts, near, level, first, hub, most, order)
            if total < most:
                best, most = order.copy(), total
    return best
