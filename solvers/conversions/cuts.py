"""Maximum cuts of graphs and minimum cuts of networks."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ProblemError, shortened
from ..options import is_whole
from .conversion import Conversion, converted
from .terms import edge_list, sums_at


@np.errstate(over="ignore", invalid="ignore")  # what overflows is refused by name
def from_max_cut(n: int, edges: Any, weights: Any = None) -> Conversion:
    """From the weight of the edges whose ends differ: sum_(i,j) w_ij (z_i + z_j - 2 z_i z_j), maximised.

    Args:
        n: number of vertices.
        edges: `[e, 2]` integers; parallel edges add up, loops are never cut.
        weights: `[e]`; None for ones.

    Raises:
        ProblemError: shapes that do not match, a vertex outside 0..n-1, weights that are not finite.

    Example:
        >>> triangle = from_max_cut(3, [[0, 1], [1, 2], [0, 2]])
        >>> float(triangle.value(triangle.problem.score([1, 0, 0])))
        2.0
    """
    pairs, values = edge_list(n, edges, weights)
    crossing = pairs[:, 0] != pairs[:, 1]
    pairs, values = pairs[crossing], values[crossing]
    linear = sums_at(n, pairs.ravel(), np.repeat(values, 2))
    return converted("maximise", range(n), linear, pairs, -2 * values, 0.0)


@np.errstate(over="ignore", invalid="ignore")  # what overflows is refused by name
def from_min_cut(n: int, arcs: Any, capacities: Any, source: int, sink: int) -> Conversion:
    """From the capacity of a cut between source and sink, minimised; its minimum is the maximum flow.

    cut(z) = sum_(u,v) c_uv z_u (1 - z_v), with z = 1 on the side of the source. The problem is
    supermodular. Source and sink keep their places in z, without scores: whatever z says of them, the
    source counts as 1 and the sink as 0.

    Args:
        n: number of nodes.
        arcs: `[e, 2]` integers, from and to; parallel and opposite arcs add up.
        capacities: `[e]`, >= 0.
        source: a node.
        sink: another node.

    Raises:
        ProblemError: shapes that do not match, a node outside 0..n-1, source and sink the same,
            capacities that are negative or not finite.

    Example:
        >>> network = from_min_cut(3, [[0, 1], [1, 2]], [5.0, 3.0], source=0, sink=2)
        >>> float(network.value(network.problem.score([1, 1, 0])))
        3.0
    """
    pairs, values = edge_list(n, arcs, capacities)
    if not (is_whole(source, 0, n - 1) and is_whole(sink, 0, n - 1)) or source == sink:
        raise ProblemError(
            f"source {shortened(source)} and sink {shortened(sink)} must be two nodes of 0..{n - 1}"
        )
    if (values < 0).any():
        arc = int(np.flatnonzero(values < 0)[0])
        raise ProblemError(f"capacities[{arc}] is {values[arc]}; capacities must be >= 0")
    start, end = pairs.T
    cuttable = (start != end) & (start != sink) & (end != source)
    pairs, values = pairs[cuttable], values[cuttable]
    start, end = pairs.T
    leaves, enters = start == source, end == sink
    # c z_u (1 - z_v) is c (1 - z_v) from the source, c z_u into the sink
    linear = sums_at(n, end[leaves & ~enters], values[leaves & ~enters])
    linear -= sums_at(n, start[~leaves], values[~leaves])
    inner = ~leaves & ~enters
    constant = float(values[leaves].sum())
    return converted("minimise", range(n), -linear, pairs[inner], -values[inner], constant)
