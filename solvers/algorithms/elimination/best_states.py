"""The states of highest score, in order, from the tables of an elimination.

In the reverse of an elimination order, a variable is chosen when all that its table depends on is
chosen. What a choice loses against the better one is known exactly, and the other variables need
lose nothing more. So every state is some choices that lose, each after the state before it, and a
heap has them in order.

References:
    Lawler (1972), A procedure for computing the K best solutions to discrete optimization problems.
    Nilsson (1998), An efficient algorithm for finding the M most probable configurations in
    probabilistic expert systems.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Edges, States
from ...compiled._kernels import elimination as kernels
from ...problem import Problem
from .order import elimination_order

MOST_ENTRIES = 1 << 26
"""Of all tables of an instance: 512 MiB."""


def buckets_of(n: int, edges: Edges) -> kernels.Buckets:
    """By the best order that the heuristics find."""
    return kernels.Buckets(edges, elimination_order(n, edges))


def best_states(problem: Problem, count: int) -> States | None:
    """`[batch, count, n]` int8, the best first, of a problem of at least `count` states; None for lack of memory."""
    buckets = problem.topology.recall(buckets_of)
    if buckets.entries > MOST_ENTRIES:
        return None
    states = np.empty((problem.batch, count, problem.n), np.int8)
    for b in range(problem.batch):
        unary = np.ascontiguousarray(problem.unary[b], np.float64)
        pairwise = np.ascontiguousarray(problem.pairwise[b], np.float64)
        buckets.rank(unary, pairwise, states[b])
    return states
