"""Orders in which to eliminate the variables of a pairwise problem, by greedy heuristics.

Eliminating a variable joins its remaining neighbours, its separator, into a clique; the table of
that step has 2^|separator| entries. The width of an order is its largest separator; the least width
of any order is the treewidth of the graph, which is NP-hard to find. The heuristics: the variable
that adds the fewest edges next (min-fill), the one that has the fewest neighbours next
(min-degree), random perturbations of both, the given order, breadth first from a vertex far off,
which is best on grids, and those that keep a small frontier, where all others are wide.

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

MAX_CORE = 1 << 14  # its adjacency, a bit a pair, takes 32 MiB
RESTARTS = 64
# an order that has so many times fewer entries than greedy ones have is beyond their restarts
REACH = 4
RESTART_ENTRIES = 1 << 15  # of the tables, that make one more restart worth its time
JITTER = 1.5  # in edges of fill; below 1 it decides between ties only
DEGREE_WEIGHT = 0.25  # in edges of fill
# of the tables of the others, that make orders of a small frontier worth their time
SWEPT_ENTRIES = 1 << 15
# the least limit and the greatest mean degree at which they are tried
SWEPT_WIDTH, SWEPT_DEGREE = 10, 10
SPACIOUS_WIDTH = 20  # up to here fewer entries are worth more width; a message takes 8 MiB
FAILED = np.inf
NEVER = np.zeros(1, np.uint8)  # what does not stop a kernel
# of greedy orders, about, for each pair of a variable with a variable or ten edges
NANOSECONDS = 1.0


class OrderStoppedError(SolverError):
    """The search for an order did not end in its share of the time limit; nothing is known of the width."""


def _core(n: int, edges: Edges) -> tuple[np.ndarray, int, np.ndarray]:
    """An order whose first `peeled` variables are final, `peeled`, and the edges among the others."""
    order, inner = np.empty(n, np.int64), np.empty_like(edges)
    peeled, left = kernels.peel(edges, order, inner)
    return order, peeled, inner[:left]


def _as_edges(edges: Edges) -> np.ndarray:
    return np.ascontiguousarray(edges, np.int64).reshape(-1, 2)


def elimination_order(n: int, edges: Edges) -> np.ndarray:
    """An order `[n]` of small tables, of width max(width_of(n, edges), SPACIOUS_WIDTH) at most.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.

    Raises:
        ValueError: more than MAX_CORE variables remain after all tree-like parts are taken off.
    """
    order, peeled, inner = _core(n, _as_edges(edges))
    size = n - peeled
    if size > MAX_CORE:
        raise ValueError(
            f"elimination orders at most {MAX_CORE} variables outside trees; got {size}"
        )
    if size == 0:
        return order
    graph = kernels.BitGraph(size, inner)
    candidates = _candidates(graph, inner, size, size)
    least = min(width for width, _, _ in candidates)
    limit = max(least, SPACIOUS_WIDTH)
    entries, best = min(
        ((entries, order) for width, entries, order in candidates if width <= limit),
        key=lambda pair: pair[0],
    )
    trial = np.empty_like(best)
    # of all candidates none has failed without a limit
    greedy = min(found for _, found, _ in candidates[:2])
    restarts = RESTARTS if greedy < REACH * entries else 0
    for seed in range(1, 1 + int(min(restarts, entries / RESTART_ENTRIES))):
        weight = DEGREE_WEIGHT * (seed % 4)
        _, outcome = graph.greedy(1.0, weight, JITTER, seed, limit, entries, trial, NEVER)
        if outcome < entries:
            best, trial, entries = trial, best, outcome
    order[peeled:] = order[peeled:][best]
    return order


def min_fill_order(n: int, edges: Edges, stop: np.ndarray = NEVER) -> np.ndarray | None:
    """The order `[n]` of the min-fill heuristic alone; None where it was stopped.

    It takes a graph apart from all sides, where breadth first sweeps over it: of the same width, it
    leaves fewer and smaller tables to split.

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
    """Width, entries and order of the heuristics that do not exceed `limit`.

    Raises:
        OrderStoppedError: `stop [1]` was set meanwhile.
    """
    found: list[tuple[int, float, np.ndarray]] = []
    for fill, degree in ((0.0, 1.0), (1.0, 0.0)):
        order = np.empty(n, np.int64)
        found.append((*graph.greedy(fill, degree, 0.0, 0, limit, FAILED, order, stop), order))
        if stop[0]:
            raise OrderStoppedError
    afar = np.empty(n, np.int64)
    graph.breadth_first(0, afar)
    found += [(*graph.follow(order, limit), order) for order in (np.arange(n), afar)]
    least = min(entries for _, entries, _ in found)
    if least > SWEPT_ENTRIES and limit >= SWEPT_WIDTH and 2 * len(edges) <= SWEPT_DEGREE * n:
        starts, near, _ = neighbour_lists(n, edges)
        swept = frontier_order(starts, near, most=min(least, n * 2.0 ** min(limit, MAX_BITS)))
        if swept is not None:
            order = swept[::-1].copy()
            found.append((*graph.follow(order, limit), order))
    return [candidate for candidate in found if candidate[1] < FAILED]


def width_of(n: int, edges: Edges, give_up_above: int) -> int | None:
    """The least width that a few heuristics find, or None where all exceed `give_up_above`.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.
        give_up_above: greatest width of interest.

    Raises:
        OrderStoppedError: the time to choose a solver was over before (`preparing`).
    """
    if len(edges) > n * give_up_above:  # a graph of treewidth k has fewer than k n edges
        return None
    _, peeled, inner = _core(n, _as_edges(edges))
    size = n - peeled
    least = min(1, len(edges))
    if size == 0:
        return least if least <= give_up_above else None
    if size > MAX_CORE or len(inner) > size * give_up_above:
        return None
    until = preparation() or Deadline.after(None)
    with until.flag(1e-9 * NANOSECONDS * size * (size + 10 * len(inner))) as stop:
        candidates = _candidates(kernels.BitGraph(size, inner), inner, size, give_up_above, stop)
    return min((max(width, least) for width, _, _ in candidates), default=None)
