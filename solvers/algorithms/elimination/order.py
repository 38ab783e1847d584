"""Orders in which to eliminate the variables of a pairwise problem, by greedy heuristics.

Eliminating a variable joins its remaining neighbours, its separator, into a clique; the table of that step
has 2^|separator| entries. The width of an order is its largest separator; the least width of any order is the
treewidth of the graph, which is NP-hard to find. The heuristics: the variable that adds the fewest edges next
(min-fill), the one that has the fewest neighbours next (min-degree), random perturbations of both, the given
order, breadth first from a vertex far off, which is best on grids, and those that keep a small frontier, where
all others are wide.

References:
    Bodlaender and Koster, 2010. Treewidth computations I. Upper bounds. Information and Computation 208.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Edges
from ...compiled import jit
from ...compiled.graphs import neighbour_lists
from ...compiled.random import seeded, uniform
from ...errors import SolverError
from ...limits.deadline import Deadline, preparation
from .frontier_order import frontier_order
from .schedule import MAX_BITS

MAX_CORE = 1 << 14  # its adjacency, a bit a pair, takes 32 MiB
RESTARTS = 64
REACH = 4  # an order that has so many times fewer entries than greedy ones have is beyond their restarts
RESTART_ENTRIES = 1 << 15  # of the tables, that make one more restart worth its time
JITTER = 1.5  # in edges of fill; below 1 it decides between ties only
DEGREE_WEIGHT = 0.25  # in edges of fill
SWEPT_ENTRIES = 1 << 15  # of the tables of the others, that make orders of a small frontier worth their time
SWEPT_WIDTH, SWEPT_DEGREE = 10, 10  # the least limit and the greatest mean degree at which they are tried
SPACIOUS_WIDTH = 20  # up to here fewer entries are worth more width; a message takes 8 MiB
FAILED = np.inf
NEVER = np.zeros(1, np.uint8)  # what does not stop a kernel
NANOSECONDS = 1.0  # of greedy orders, about, for each pair of a variable with a variable or ten edges


class OrderStoppedError(SolverError):
    """The search for an order did not end in its share of the time limit; nothing is known of the width."""


@jit.strict
def _bit_count(word):
    word -= word >> np.uint64(1) & np.uint64(0x5555555555555555)
    word = (word & np.uint64(0x3333333333333333)) + (word >> np.uint64(2) & np.uint64(0x3333333333333333))
    word = word + (word >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64(word * np.uint64(0x0101010101010101) >> np.uint64(56))


@jit.strict
def members_of(row, members):
    """Writes the positions of the set bits of `row` and returns how many there are."""
    count = 0
    for w in range(len(row)):
        word = row[w]
        while word:
            lowest = word & (~word + np.uint64(1))
            members[count] = 64 * w + _bit_count(lowest - np.uint64(1))
            count += 1
            word ^= lowest
    return count


@jit.strict
def bit_matrix(n, edges):
    """The adjacency of a graph, a row of 64-bit words a vertex."""
    matrix = np.zeros((n, (n + 63) // 64), np.uint64)
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        matrix[i, j >> 6] |= np.uint64(1) << np.uint64(j & 63)
        matrix[j, i >> 6] |= np.uint64(1) << np.uint64(i & 63)
    return matrix


@jit.strict
def _fill(adjacency, v, neighbours):
    """How many edges the elimination of v adds."""
    count = members_of(adjacency[v], neighbours)
    missing = 0
    for u in neighbours[:count]:
        for w in range(adjacency.shape[1]):
            missing += _bit_count(adjacency[v, w] & ~adjacency[u, w])
    return (missing - count) // 2


@jit.strict
def remove(adjacency, v, neighbours):
    """Joins the neighbours of v and takes v out."""
    for u in neighbours:
        for w in range(adjacency.shape[1]):
            adjacency[u, w] |= adjacency[v, w]
        adjacency[u, u >> 6] &= ~(np.uint64(1) << np.uint64(u & 63))
        adjacency[u, v >> 6] &= ~(np.uint64(1) << np.uint64(v & 63))


@jit.strict
def _changed(adjacency, neighbours, added, members):
    """The vertices whose fill the elimination of a vertex with these neighbours changes."""
    reach = np.zeros(adjacency.shape[1], np.uint64)
    for u in neighbours:
        reach[u >> 6] |= np.uint64(1) << np.uint64(u & 63)
        if added:
            for w in range(len(reach)):
                reach[w] |= adjacency[u, w]
    return members_of(reach, members)


@jit.strict
def _greedy(adjacency, fill_weight, degree_weight, jitter, seed, limit, entries_limit, order, stop):
    """Writes a greedy order; consumes `adjacency`, and fails once `stop [1]` is set.

    Returns:
        The width and the entries of all tables; FAILED entries where the width exceeds `limit` or the
        entries `entries_limit`.
    """
    n = len(adjacency)
    degree, cost = np.empty(n, np.int64), np.empty(n)
    neighbours, members = np.empty(n, np.int64), np.empty(n, np.int64)
    random, count = seeded(seed), n
    for i in range(n):
        members[i] = i
    width, entries = 0, 0.0
    for step in range(n):
        for v in members[:count]:
            if stop[0]:
                return n, FAILED
            degree[v] = members_of(adjacency[v], neighbours)
            cost[v] = degree_weight * degree[v]
            if fill_weight:
                cost[v] += fill_weight * _fill(adjacency, v, neighbours)
            if jitter:
                cost[v] += jitter * uniform(random)
        v = np.argmin(cost)
        width = max(width, degree[v])
        entries += 2.0 ** degree[v]
        if width > limit or entries >= entries_limit:
            return width, FAILED
        order[step] = v
        cost[v] = np.inf
        deg = members_of(adjacency[v], neighbours)
        added = fill_weight != 0 and _fill(adjacency, v, members) > 0
        remove(adjacency, v, neighbours[:deg])
        count = _changed(adjacency, neighbours[:deg], added, members)
    return width, entries


@jit.strict
def _follow(adjacency, given, limit, order):
    """Copies the order `given`; consumes `adjacency` and returns what `_greedy` returns."""
    neighbours = np.empty(len(adjacency), np.int64)
    width, entries = 0, 0.0
    for step, v in enumerate(given):
        order[step] = v
        degree = members_of(adjacency[v], neighbours)
        width = max(width, degree)
        entries += 2.0**degree
        if width > limit:
            return width, FAILED
        remove(adjacency, v, neighbours[:degree])
    return width, entries


@jit.strict
def _breadth_first(adjacency, start):
    """All vertices, those of the component of `start` first, by their distance from a vertex far off."""
    n = len(adjacency)
    queue, members = np.empty(n, np.int64), np.empty(n, np.int64)
    for _ in range(2):
        seen = np.zeros(n, np.bool_)
        head = tail = 0
        while tail < n:
            if head == tail:
                while seen[start]:
                    start = (start + 1) % n
                queue[tail], seen[start] = start, True
                tail += 1
            for u in members[: members_of(adjacency[queue[head]], members)]:
                if not seen[u]:
                    queue[tail], seen[u] = u, True
                    tail += 1
            head += 1
        start = queue[n - 1]
    return queue


@jit.strict
def _peel(n, edges, order):
    """Takes off variables with at most one neighbour left; returns how many went.

    Writes them to the front of `order` and the others, sorted, behind them.
    """
    degree, crossed = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for e in range(len(edges)):
        for side in range(2):
            # A leaf's one neighbour is the exclusive or of all its neighbours.
            degree[edges[e, side]] += 1
            crossed[edges[e, side]] ^= edges[e, 1 - side]
    count = 0
    for start in range(n):
        v = start
        while degree[v] == 0 or degree[v] == 1:
            order[count] = v
            count += 1
            u, leaf = crossed[v], degree[v] == 1
            degree[v] = -1
            if not leaf:
                break
            degree[u] -= 1
            crossed[u] ^= v
            if u > start:  # its turn comes
                break
            v = u
    rest = count
    for v in range(n):
        if degree[v] > 0:
            order[rest] = v
            rest += 1
    return count


def _core(n: int, edges: Edges) -> tuple[np.ndarray, int, np.ndarray]:
    """An order whose first `peeled` variables are final, `peeled`, and the edges among the others."""
    order = np.empty(n, np.int64)
    peeled = _peel(n, edges, order)
    place = np.full(n, -1)
    place[order[peeled:]] = np.arange(n - peeled)
    inner = place[edges]
    return order, peeled, inner[(inner >= 0).all(axis=1)]


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
        raise ValueError(f"elimination orders at most {MAX_CORE} variables outside trees; got {size}")
    if size == 0:
        return order
    adjacency = bit_matrix(size, inner)
    candidates = _candidates(adjacency, inner, size)
    least = min(width for width, _, _ in candidates)
    limit = max(least, SPACIOUS_WIDTH)
    entries, best = min(
        ((entries, order) for width, entries, order in candidates if width <= limit), key=lambda pair: pair[0]
    )
    trial = np.empty_like(best)
    greedy = min(found for _, found, _ in candidates[:2])  # of all candidates none has failed without a limit
    restarts = RESTARTS if greedy < REACH * entries else 0
    for seed in range(1, 1 + int(min(restarts, entries / RESTART_ENTRIES))):
        weight = DEGREE_WEIGHT * (seed % 4)
        _, outcome = _greedy(adjacency.copy(), 1.0, weight, JITTER, seed, limit, entries, trial, NEVER)
        if outcome < entries:
            best, trial, entries = trial, best, outcome
    order[peeled:] = order[peeled:][best]
    return order


def min_fill_order(n: int, edges: Edges, stop: np.ndarray = NEVER) -> np.ndarray | None:
    """The order `[n]` of the min-fill heuristic alone; None where it was stopped.

    It takes a graph apart from all sides, where breadth first sweeps over it: of the same width, it leaves fewer
    and smaller tables to split.

    Args:
        n: number of variables, at most MAX_CORE of them outside trees.
        edges: `[e, 2]`, distinct pairs.
        stop: `[1]` uint8, which another thread may set.
    """
    order, peeled, inner = _core(n, _as_edges(edges))
    if peeled < n:
        place = np.empty(n - peeled, np.int64)
        matrix = bit_matrix(n - peeled, inner)
        _, entries = _greedy(matrix, 1.0, 0.0, 0.0, 0, n, FAILED, place, stop)
        if entries == FAILED and stop[0]:
            return None
        order[peeled:] = order[peeled:][place]
    return order


def _candidates(
    adjacency: np.ndarray, edges: np.ndarray, limit: int, stop: np.ndarray = NEVER
) -> list[tuple[int, float, np.ndarray]]:
    """Width, entries and order of the heuristics that do not exceed `limit`.

    Raises:
        OrderStoppedError: `stop [1]` was set meanwhile.
    """
    n = len(adjacency)
    found: list[tuple[int, float, np.ndarray]] = []
    for fill, degree in ((0.0, 1.0), (1.0, 0.0)):
        order = np.empty(n, np.int64)
        found.append((*_greedy(adjacency.copy(), fill, degree, 0.0, 0, limit, FAILED, order, stop), order))
        if stop[0]:
            raise OrderStoppedError
    for given in (np.arange(n), _breadth_first(adjacency, 0)):
        order = np.empty(n, np.int64)
        found.append((*_follow(adjacency.copy(), given, limit, order), order))
    least = min(entries for _, entries, _ in found)
    if least > SWEPT_ENTRIES and limit >= SWEPT_WIDTH and 2 * len(edges) <= SWEPT_DEGREE * n:
        starts, near, _ = neighbour_lists(n, edges)
        swept = frontier_order(starts, near, most=min(least, n * 2.0 ** min(limit, MAX_BITS)))
        if swept is not None:
            order = np.empty(n, np.int64)
            found.append((*_follow(adjacency.copy(), swept[::-1].copy(), limit, order), order))
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
        candidates = _candidates(bit_matrix(size, inner), inner, give_up_above, stop)
    return min((max(width, least) for width, _, _ in candidates), default=None)
