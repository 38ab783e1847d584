"""Order the vertices so that the frontier stays small.

The frontier consists of the ordered vertices that have a neighbour outside the order.

Where min-fill takes a graph apart from all sides, these orders sweep over it. The frontier bounds
the pathwidth: eliminating from the last vertex to the first, no separator is larger than it. On
lattices that are long, round or nested it is far smaller than the separators of min-fill.

References:
    Kinnersley (1992), The vertex separation number of a graph equals its path-width.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import elimination as kernels
from ...limits.deadline import Deadline

STARTS = 16
"""Number of vertices to begin orders with."""

TRIED_STARTS = 2
"""Number of starts after which the search ends if all orders exceed the limit.

On lattices of all kinds an order from one of the first two starts met the limit if any did. On
random graphs a later one saves less than half of the entries, and random restarts of min-fill find
such orders as well."""


def frontier_order(
    starts: np.ndarray,
    near: np.ndarray,
    hub: int = -1,
    deadline: Deadline | None = None,
    most: float = np.inf,
) -> np.ndarray | None:
    """Return a greedy order `[n]` with a small frontier: the best of several starts.

    Each start is tried with and without layers. Layers begin with all vertices that are farthest
    from one, such as the end of a cylinder.

    Args:
        starts: `[n + 1]`, the first neighbour of each vertex.
        near: the neighbours, as `neighbour_lists` gives them.
        hub: a vertex that comes first, whatever its neighbours; -1 for none.
        deadline: time at which no further order is tried.
        most: limit on the sum of 2^(size of the frontier); None is returned if no order is below
            it.
    """
    n = len(starts) - 1
    best: np.ndarray | None = None
    alike = np.zeros(n, np.int64)
    distance = np.empty(n, np.int64)
    layer = np.empty(n, np.int64)
    order = np.empty(n, np.int64)
    chosen = np.unique(np.linspace(0, n - 1, STARTS).astype(np.int64)).tolist()
    for number, start in enumerate(chosen):
        if best is None and number == TRIED_STARTS:
            return None
        kernels.distances(starts, near, start, hub, distance)
        kernels.layers(starts, near, distance, hub, layer)
        far = int(np.argmax(distance))
        end = int(np.argmin(layer))
        # By neighbours from the start, the same from the vertex farthest from it, and by layers.
        for level, first in ((alike, start), (alike, far), (layer, end)):
            if best is not None and deadline is not None and deadline.passed:
                return best
            # A sweep stops as soon as it costs more than the best order so far.
            total = kernels.sweep(starts, near, level, first, hub, most, order)
            if total < most:
                best = order.copy()
                most = total
    return best
