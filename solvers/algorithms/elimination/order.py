"""Order the variables of a pairwise problem for elimination, by greedy heuristics.

Eliminating a variable joins its remaining neighbours, its separator, into a clique; the table of
that step has 2^|separator| entries. The width of an order is its largest separator; the least width
of any order is the treewidth of the graph, which is NP-hard to compute. The heuristics are:

- min-fill: the variable that adds the fewest edges comes next;
- min-degree: the variable that has the fewest neighbours comes next;
- random perturbations of both;
- the numbers of the variables;
- breadth first from a vertex far off, which is best on grids;
- orders that keep a small frontier, tried where all others are wide.

References:
    Bodlaender and Koster, 2010. Treewidth computations I. Upper bounds. Information and Computation
    208.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Edges
from ...compiled._kernels import elimination as kernels
from ...compiled.graphs import neighbour_lists
from ...errors import SolverError
from ...limits.deadline import Deadline, preparation
from .frontier_order import frontier_order
from .schedule import MAX_BITS

MAX_CORE = 1 << 14
"""Largest number of variables outside trees; their adjacency, one bit per pair, takes 32 MiB."""

RESTARTS = 64
"""Maximum number of random perturbations."""

REACH = 4
"""Factor by which another order may beat greedy ones for random perturbations to be tried."""

RESTART_ENTRIES = 1 << 15
"""Table entries that make one more perturbation worth its time."""

JITTER = 1.5
"""Size of the perturbation, in edges of fill; below 1 it only decides between ties."""

DEGREE_WEIGHT = 0.25
"""Weight of the degree, in edges of fill."""

SWEPT_ENTRIES = 1 << 15
"""Table entries of the other orders that make orders of a small frontier worth their time."""

SWEPT_WIDTH = 10
"""Least limit on the width at which orders of a small frontier are tried."""

SWEPT_DEGREE = 10
"""Greatest mean degree at which orders of a small frontier are tried."""

SWEPT_MARGIN = 2.0
"""Factor by which the frontiers of an order may exceed the tables that it is to replace.

Each separator lies within the frontier of its step, so the tables are smaller than the frontiers.
"""

SPACIOUS_WIDTH = 20
"""Width up to which fewer entries are worth more width; a message then takes 8 MiB."""

FAILED = np.inf
"""Entries of an order that exceeds its limit."""

NEVER = np.zeros(1, np.uint8)
"""The stop flag of a kernel that runs to its end."""

NANOSECONDS = 1.0
"""Approximate time of greedy orders, per pair of a variable with a variable or ten edges."""


class OrderStoppedError(SolverError):
    """The time limit ended the search for an order, so that the width is unknown."""


def _core(n: int, edges: Edges) -> tuple[np.ndarray, int, np.ndarray]:
    """Return an order, the number of its first variables that are final, and the other edges.

    The edges are those among the variables that are not final.
    """
    order = np.empty(n, np.int64)
    inner = np.empty_like(edges)
    peeled, left = kernels.peel(edges, order, inner)
    return order, peeled, inner[:left]


def _as_edges(edges: Edges) -> np.ndarray:
    return np.ascontiguousarray(edges, np.int64).reshape(-1, 2)


def elimination_order(n: int, edges: Edges) -> np.ndarray:
    """Return an order `[n]` of small tables, at most max(width_of, SPACIOUS_WIDTH) wide.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.

    Raises:
        ValueError: more than MAX_CORE variables remain outside trees.
    """
    order, peeled, inner = _core(n, _as_edges(edges))
    size = n - peeled
    if size > MAX_CORE:
        raise ValueError(
            f"an elimination order takes at most {MAX_CORE} variables outside trees, and this "
            f"graph has {size}"
        )
    if size == 0:
        return order
    graph = kernels.BitGraph(size, inner)
    candidates = _candidates(graph, inner, size, size)
    least = min(width for width, _, _ in candidates)
    # Up to SPACIOUS_WIDTH memory suffices, and the number of entries decides.
    limit = max(least, SPACIOUS_WIDTH)
    entries, best = min(
        ((entries, order) for width, entries, order in candidates if width <= limit),
        key=lambda pair: pair[0],
    )
    trial = np.empty_like(best)
    # The first two candidates are the greedy ones; without a limit they never fail.
    greedy = min(entries for _, entries, _ in candidates[:2])
    # Random restarts only pay if the greedy rules came close to the best order.
    restarts = 0
    if greedy < REACH * entries:
        restarts = RESTARTS
    # A restart costs about the same for any tables, so large ones deserve more of them.
    for seed in range(1, 1 + int(min(restarts, entries / RESTART_ENTRIES))):
        weight = DEGREE_WEIGHT * (seed % 4)
        # The best so far is the limit, so a trial that exceeds it ends early.
        _, outcome = graph.greedy(1.0, weight, JITTER, seed, limit, entries, trial, NEVER)
        if outcome < entries:
            spare = best
            best = trial
            trial = spare
            entries = outcome
    # The trees outside the core stay first: removing a leaf adds no edge.
    order[peeled:] = order[peeled:][best]
    return order


def min_fill_order(n: int, edges: Edges, stop: np.ndarray = NEVER) -> np.ndarray | None:
    """Return the order `[n]` of the min-fill heuristic alone; None if it was stopped.

    Min-fill eliminates vertices on all sides of a graph, while breadth first sweeps over it. With
    the same width, it leaves fewer and smaller tables to split.

    Args:
        n: number of variables, at most MAX_CORE of them outside trees.
        edges: `[e, 2]`, distinct pairs.
        stop: `[1]` uint8, which another thread may set.
    """
    order, peeled, inner = _core(n, _as_edges(edges))
    if peeled < n:
        place = np.empty(n - peeled, np.int64)
        graph = kernels.BitGraph(n - peeled, inner)
        _, entries = graph.greedy(1.0, 0.0, 0.0, 0, n, FAILED, place, stop)
        if entries == FAILED and stop[0]:
            return None
        order[peeled:] = order[peeled:][place]
    return order


def _candidates(
    graph: kernels.BitGraph, edges: np.ndarray, n: int, limit: int, stop: np.ndarray = NEVER
) -> list[tuple[int, float, np.ndarray]]:
    """Return width, entries and order of the heuristics that do not exceed `limit`.

    Raises:
        OrderStoppedError: `stop [1]` was set.
    """
    candidates: list[tuple[int, float, np.ndarray]] = []
    # Least degree, then least fill.
    for fill, degree in ((0.0, 1.0), (1.0, 0.0)):
        order = np.empty(n, np.int64)
        candidates.append((*graph.greedy(fill, degree, 0.0, 0, limit, FAILED, order, stop), order))
        if stop[0]:
            raise OrderStoppedError
    # The numbering of the caller and a breadth-first order are often good for grids and bands.
    afar = np.empty(n, np.int64)
    graph.breadth_first(0, afar)
    candidates += [(*graph.follow(order, limit), order) for order in (np.arange(n), afar)]
    least = min(entries for _, entries, _ in candidates)
    # A sweep pays only on a large sparse graph whose best order so far is expensive.
    if least > SWEPT_ENTRIES and limit >= SWEPT_WIDTH and 2 * len(edges) <= SWEPT_DEGREE * n:
        starts, near, _ = neighbour_lists(n, edges)
        most = min(SWEPT_MARGIN * least, n * 2.0 ** min(limit, MAX_BITS))
        swept = frontier_order(starts, near, most=most)
        if swept is not None:
            order = swept[::-1].copy()
            candidates.append((*graph.follow(order, limit), order))
    return [candidate for candidate in candidates if candidate[1] < FAILED]


def width_of(n: int, edges: Edges, give_up_above: int) -> int | None:
    """Return the least width of a few heuristics; None if all exceed `give_up_above`.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.
        give_up_above: greatest width of interest.

    Raises:
        OrderStoppedError: the time to choose a solver ended first (`preparing`).
    """
    if len(edges) > n * give_up_above:  # a graph of treewidth k has fewer than k n edges
        return None
    _, peeled, inner = _core(n, _as_edges(edges))
    size = n - peeled
    # A forest has width 1, or 0 without any edge.
    least = min(1, len(edges))
    if size == 0:
        if least <= give_up_above:
            return least
        return None
    if size > MAX_CORE or len(inner) > size * give_up_above:
        return None
    until = preparation() or Deadline.after(None)
    with until.flag(1e-9 * NANOSECONDS * size * (size + 10 * len(inner))) as stop:
        candidates = _candidates(kernels.BitGraph(size, inner), inner, size, give_up_above, stop)
    return min((max(width, least) for width, _, _ in candidates), default=None)
