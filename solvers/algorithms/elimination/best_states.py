"""The states of highest score, in order, from the tables of an elimination.

In the reverse of an elimination order, a variable is chosen when all that its table depends on is chosen. What a choice
loses against the better one is known exactly, and the other variables need lose nothing more. So every state is some
choices that lose, each after the state before it, and a heap has them in order.

References:
    Lawler (1972), A procedure for computing the K best solutions to discrete optimization problems.
    Nilsson (1998), An efficient algorithm for finding the M most probable configurations in probabilistic expert
    systems.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from ...arrays import States
from ...compiled import jit
from ...problem import Problem
from .order import elimination_order

MOST_ENTRIES = 1 << 26
"""Of all tables of an instance: 512 MiB."""


class Buckets(NamedTuple):
    """An elimination, by step: the variable of a step, and the steps of the later variables that its table depends on.

    Attributes:
        order: `[n]`.
        starts: `[n + 1]`, of each step in `later`.
        later: steps, ascending.
        tables: `[n + 1]`, where the table of each step starts: two entries for each state of `later`.
    """

    order: np.ndarray
    starts: np.ndarray
    later: np.ndarray
    tables: np.ndarray


def buckets_of(n: int, edges: np.ndarray) -> Buckets:
    """By the best order that the heuristics find."""
    order = np.asarray(elimination_order(n, edges), np.int64)
    step = np.argsort(order)
    later: list[set[int]] = [set() for _ in range(n)]
    for i, j in np.sort(step[edges], axis=1).tolist():
        later[i].add(j)
    for t in range(n):
        if later[t]:
            parent = min(later[t])
            later[parent] |= later[t] - {parent}
    sizes = [len(members) for members in later]
    return Buckets(
        order,
        np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
        np.array([member for members in later for member in sorted(members)], np.int64),
        np.concatenate(([0], np.cumsum([2 << size for size in sizes], dtype=np.int64))),
    )


def best_states(problem: Problem, count: int) -> States | None:
    """`[batch, count, n]` int8, the best first, of a problem of at least `count` states; None for lack of memory."""
    buckets = problem.topology.recall(buckets_of)
    if buckets.tables[-1] > MOST_ENTRIES:
        return None
    step = np.argsort(buckets.order)
    ends = np.sort(step[problem.topology.pairs], axis=1)
    states = np.empty((problem.batch, count, problem.n), np.int8)
    table = np.empty(buckets.tables[-1])
    for b in range(problem.batch):
        unary = np.asarray(problem.unary[b], np.float64)[buckets.order]
        _fill(unary, np.asarray(problem.pairwise[b], np.float64), ends, buckets, table)
        states[b] = _in_order(buckets, table, count)[:, step]
    return states


def _in_order(buckets: Buckets, table: np.ndarray, count: int) -> States:
    """`[count, n]`, by step."""
    n = len(buckets.order)
    found = np.empty((count, n), np.int8)
    # (loss, number, the state that it leaves, at which step): the first one leaves none.
    heap: list[tuple[float, int, int, int]] = [(0.0, 0, -1, n)]
    number, losses = 1, np.empty(n)
    for k in range(count):
        loss, _, left, at = heapq.heappop(heap)
        if left >= 0:
            found[k] = found[left]
            found[k, at] ^= 1
        _complete(buckets, table, found[k], at, losses)
        cheap = np.argsort(losses[:at], kind="stable")[: count - k]  # more of them are never asked for
        for t in cheap.tolist():
            heapq.heappush(heap, (loss + losses[t], number, k, t))
            number += 1
    return found


@jit.strict
def _place(buckets, t, z):
    """Where the table of a step has the entry of z_t = 0, given the steps after it."""
    place = buckets.tables[t]
    for k in range(buckets.starts[t], buckets.starts[t + 1]):
        place += z[buckets.later[k]] << (k - buckets.starts[t] + 1)
    return place


@jit.strict
def _complete(buckets, table, z, at, losses):
    """Chooses the steps before `at` so that they lose nothing; writes what each would lose by its other value."""
    for t in range(at - 1, -1, -1):
        place = _place(buckets, t, z)
        z[t] = table[place + 1] > table[place]
        losses[t] = abs(table[place + 1] - table[place])


@jit.strict
def _fill(unary, pairwise, ends, buckets, table):
    """Writes all tables; unary `[n]` and ends `[e, 2]` are by step."""
    n = len(unary)
    table[:] = 0.0
    for t in range(n):
        for s in range(buckets.tables[t] + 1, buckets.tables[t + 1], 2):
            table[s] = unary[t]
    for e in range(len(ends)):
        t = ends[e, 0]
        bit = 1
        while buckets.later[buckets.starts[t] + bit - 1] != ends[e, 1]:
            bit += 1
        for s in range(1, buckets.tables[t + 1] - buckets.tables[t], 2):
            if s >> bit & 1:
                table[buckets.tables[t] + s] += pairwise[e]
    for t in range(n):
        if buckets.starts[t] < buckets.starts[t + 1]:
            _hand_on(buckets, t, table)


@jit.strict_inner
def _hand_on(buckets, t, table):
    """Adds the better half of the table of a step to that of its parent."""
    parent = buckets.later[buckets.starts[t]]
    width = buckets.starts[t + 1] - buckets.starts[t]
    to = np.empty(width, np.int64)  # the bit of each later step in the parent's entries
    to[0] = 0
    for k in range(1, width):
        bit = 1
        while buckets.later[buckets.starts[parent] + bit - 1] != buckets.later[buckets.starts[t] + k]:
            bit += 1
        to[k] = bit
    for s in range(buckets.tables[parent + 1] - buckets.tables[parent]):
        from_ = 0
        for k in range(width):
            from_ |= (s >> to[k] & 1) << k
        place = buckets.tables[t] + 2 * from_
        table[buckets.tables[parent] + s] += max(table[place], table[place + 1])
