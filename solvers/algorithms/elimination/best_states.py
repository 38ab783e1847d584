"""Rank the states of highest score, in order, from the tables of an elimination.

In the reverse of an elimination order, the value of a variable is chosen after all variables on
which its table depends. The loss of a choice, compared with the better one, is known exactly, and
the later choices need not lose more. So every state follows from another one by one more losing
choice, and a heap orders the states.

References:
    Lawler (1972), A procedure for computing the K best solutions to discrete optimization problems.
    Nilsson (1998), An efficient algorithm for finding the M most probable configurations in
    probabilistic expert systems.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Edges, States
from ...compiled._kernels import elimination as kernels
from ...limits.deadline import Deadline
from ...problems.problem import Problem
from .order import elimination_order

MOST_ENTRIES = 1 << 26
"""Largest number of entries of all tables of an instance: 512 MiB."""


def buckets_of(n: int, edges: Edges) -> kernels.Buckets:
    """Return the buckets of the best order of the heuristics."""
    return kernels.Buckets(edges, elimination_order(n, edges))


def best_states(problem: Problem, count: int, deadline: Deadline) -> tuple[States, int] | None:
    """Return the best states `[batch, count, n]` int8, in order; None for lack of memory.

    The number is that of the first instances, which were reached before the deadline. The
    problem has at least `count` states.
    """
    buckets = problem.topology.recall(buckets_of)
    if buckets.entries > MOST_ENTRIES:
        return None
    states = np.zeros((problem.batch, count, problem.n), np.int8)
    for b in range(problem.batch):
        if deadline.passed:
            return states, b
        unary = np.ascontiguousarray(problem.unary[b], np.float64)
        pairwise = np.ascontiguousarray(problem.pairwise[b], np.float64)
        buckets.rank(unary, pairwise, states[b])
    return states, problem.batch
