"""Convert maximum cuts of graphs and minimum cuts of networks."""

from __future__ import annotations

import heapq
import math
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import compress
from typing import Any

import numpy as np

from ...errors import ProblemError, shortened
from ...options import is_whole
from ..conversion import Conversion, converted
from ..exact import ExactTerms
from ..objective import Capacity, Cut, total
from ..terms import Pairs, Weights, edge_list, sums_at

EVEN = 2.0**20
"""Maximum ratio of two capacities for which all capacities are used as they are."""


@np.errstate(over="ignore", invalid="ignore")  # overflow is reported by name later
def from_max_cut(n: int, edges: Any, weights: Any = None) -> Conversion:
    """Convert a maximum cut problem: choose sides to maximise the weight of the cut edges.

    The objective is sum_(i,j) w_ij (z_i + z_j - 2 z_i z_j), maximised.

    Args:
        n: number of vertices.
        edges: `[e, 2]` integers; parallel edges add up, loops are never cut.
        weights: `[e]`, numbers of any kind, including fractions and decimals; None for ones.

    Raises:
        ProblemError: shapes do not match, a vertex is outside 0..n-1, or a weight is not finite.

    Example:
        >>> triangle = from_max_cut(3, [[0, 1], [1, 2], [0, 2]])
        >>> float(triangle.value(triangle.problem.score([1, 0, 0])))
        2.0
    """
    pairs, values, fractions = edge_list(n, edges, weights)
    crossing = pairs[:, 0] != pairs[:, 1]
    pairs = pairs[crossing]
    values = values[crossing]
    exact = _exact(fractions, crossing)
    linear = sums_at(n, pairs.ravel(), np.repeat(values, 2))
    return converted(
        "maximise", range(n), linear, pairs, -2 * values, 0.0, original=Cut(pairs, values, exact)
    )


def _exact(fractions: list[Fraction] | None, used: np.ndarray) -> ExactTerms | None:
    """Return the exact numbers of the used edges; None if float64 holds all numbers."""
    if fractions is None:
        return None
    return ExactTerms(Fraction(0), list(compress(fractions, used.tolist())))


@np.errstate(over="ignore", invalid="ignore")  # overflow is reported by name later
def from_min_cut(n: int, arcs: Any, capacities: Any, source: int, sink: int) -> Conversion:
    """Convert a minimum cut problem: separate source and sink at minimum capacity.

    The minimum is the value of the maximum flow.

    cut(z) = sum_(u,v) c_uv z_u (1 - z_v), with z = 1 on the side of the source. The problem is
    supermodular. Source and sink keep their places in z, without scores: `Conversion.fixed` says
    that the source is 1 and the sink is 0, and `solve` of the conversion obeys this.

    Args:
        n: number of nodes.
        arcs: `[e, 2]` integers, from and to; parallel and opposite arcs add up.
        capacities: `[e]`, >= 0, including fractions and decimals; infinity for an arc that may not
            be cut. If a capacity is larger than some whole cut, the problem uses twice that cut
            instead, so that the other capacities keep their digits.
        source: a node.
        sink: another node.

    Raises:
        ProblemError: shapes do not match, a node is outside 0..n-1, source and sink are the same, a
            capacity is negative or nan, or all capacities on a path from source to sink are
            infinite.

    Example:
        >>> network = from_min_cut(3, [[0, 1], [1, 2]], [5.0, 3.0], source=0, sink=2)
        >>> float(network.value(network.problem.score([1, 1, 0])))
        3.0
    """
    pairs, capacity, fractions = edge_list(n, arcs, capacities, largest=math.inf)
    if not (is_whole(source, 0, n - 1) and is_whole(sink, 0, n - 1)) or source == sink:
        raise ProblemError(
            f"source {shortened(source)} and sink {shortened(sink)} must be two nodes of 0..{n - 1}"
        )
    if (capacity < 0).any():
        arc = int(np.flatnonzero(capacity < 0)[0])
        raise ProblemError(f"capacities[{arc}] is {capacity[arc]}; capacities must be >= 0")
    start, end = pairs.T
    cuttable = (start != end) & (start != sink) & (end != source)
    pairs = pairs[cuttable]
    capacity = capacity[cuttable]
    exact = _exact(fractions, cuttable)
    values = _capped(n, pairs, capacity, int(source), int(sink))
    start, end = pairs.T
    leaves = start == source
    enters = end == sink
    # c z_u (1 - z_v) is c (1 - z_v) from the source, c z_u into the sink
    linear = sums_at(n, end[leaves & ~enters], values[leaves & ~enters])
    linear -= sums_at(n, start[~leaves], values[~leaves])
    inner = ~leaves & ~enters
    constant = float(values[leaves].sum())
    original = Capacity(pairs, capacity, values, exact)
    conversion = converted(
        "minimise", range(n), -linear, pairs[inner], -values[inner], constant, original=original
    )
    return replace(conversion, fixed={int(source): 1, int(sink): 0})


def _capped(n: int, arcs: Pairs, capacities: Weights, source: int, sink: int) -> Weights:
    """Return capacities with the same minimum cuts, none much larger than the minimum.

    If some cut has the capacity U, an arc of more than U is in no minimum cut. Any capacity above U
    then gives the same minimum cuts.

    Raises:
        ProblemError: every cut is infinite.
    """
    # If capacities differ by at most a factor of EVEN, floats hold them precisely enough.
    positive = capacities[capacities > 0]
    if not positive.size or positive.max() <= min(EVEN * positive.min(), sys.float_info.max):
        return capacities
    width, side = _widest_path(n, arcs, capacities, source, sink)
    if width == math.inf:
        raise ProblemError(
            f"arcs of infinite capacity lead from the source {source} to the sink {sink}, "
            "so every cut is infinite; give one of them a finite capacity"
        )
    cut = total(capacities[side[arcs[:, 0]] & ~side[arcs[:, 1]]])
    # Twice the value of a cut is more than any minimum cut, so such an arc is never cut.
    most = 1.0
    if cut:
        most = 2 * cut
    capped: np.ndarray = np.minimum(capacities, most)
    return capped


def _widest_path(
    n: int, arcs: Pairs, capacities: Weights, source: int, sink: int
) -> tuple[float, np.ndarray]:
    """Return the width of the widest path from source to sink, and a cut of that width.

    The width of a path is its least capacity; it is 0 without a path. No arc of the cut has a
    larger capacity than the width.

    Dijkstra's algorithm settles the nodes in falling order of the width of their widest paths. The
    cut separates the nodes that are settled before the width falls to that of the sink.

    Returns:
        The width, and `[n]` whether each node lies on the source's side.
    """
    order = np.argsort(arcs[:, 0], kind="stable")
    first = np.searchsorted(arcs[order, 0], np.arange(n + 1)).tolist()
    ends = arcs[order, 1].tolist()
    wide = capacities[order].tolist()
    best = [0.0] * n
    best[source] = math.inf
    # Dijkstra's algorithm, with the least capacity of a path in place of its length.
    waiting = [(-math.inf, source)]
    settled = np.zeros(n, bool)
    while waiting:
        width, node = heapq.heappop(waiting)
        if node == sink:
            break
        if settled[node]:
            continue
        settled[node] = True
        for place in range(first[node], first[node + 1]):
            through = min(-width, wide[place])
            if through > best[ends[place]]:
                best[ends[place]] = through
                heapq.heappush(waiting, (-through, ends[place]))
    # An arc that leaves this side is not wider than the path, or its end would be on this side.
    side = settled & (np.array(best) > best[sink])
    side[source] = True
    return best[sink], side
