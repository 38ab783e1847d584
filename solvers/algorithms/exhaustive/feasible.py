"""The best among those of the 2^n states that satisfy constraints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import States
from ...problem import Problem

CHUNK = 1 << 14
"""States at once."""


def best_feasible(problem: Problem, satisfied: Callable[[States], np.ndarray]) -> States:
    """`[batch, n]` int8, -1 where no state satisfies the constraints; a problem on the host.

    Args:
        problem: at most 25 variables.
        satisfied: `[states]`, of states `[states, n]`.
    """
    n, pairs = problem.n, problem.topology.pairs
    unary, pairwise = (np.asarray(part, np.float64).T for part in (problem.unary, problem.pairwise))
    best = np.full(problem.batch, -np.inf)
    z = np.full((problem.batch, n), -1, np.int8)
    instances = np.arange(problem.batch)
    for start in range(0, 1 << n, CHUNK):
        codes = np.arange(start, min(start + CHUNK, 1 << n))
        states = (codes[:, None] >> np.arange(n) & 1).astype(np.int8)
        states = states[satisfied(states)]
        if not len(states):
            continue
        scores = states @ unary + (states[:, pairs[:, 0]] & states[:, pairs[:, 1]]) @ pairwise
        top = scores.argmax(axis=0)
        better = scores[top, instances] > best
        best[better], z[better] = scores[top, instances][better], states[top[better]]
    return z
