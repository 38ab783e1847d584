"""Rank the best of the 2^n states that satisfy constraints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import States
from ...problems.problem import Problem

CHUNK = 1 << 14
"""Number of states that are scored at a time."""


def best_feasible(
    problem: Problem, satisfied: Callable[[States], np.ndarray], count: int = 1
) -> States:
    """Return the best feasible states `[batch, states, n]` int8, at most `count`, the best first.

    Args:
        problem: the batch, on the host, of at most 25 variables.
        satisfied: returns `[states]`, whether each of `[states, n]` satisfies the constraints.
        count: maximum number of states, at least 1.
    """
    n = problem.n
    pairs = problem.topology.pairs
    unary = np.asarray(problem.unary, np.float64).T
    pairwise = np.asarray(problem.pairwise, np.float64).T
    best = np.empty((0, problem.batch))
    best_codes = np.empty((0, problem.batch), np.int64)
    # In chunks, since all 2^n states at once would not fit into memory.
    for start in range(0, 1 << n, CHUNK):
        codes = np.arange(start, min(start + CHUNK, 1 << n))
        states = (codes[:, None] >> np.arange(n) & 1).astype(np.int8)
        allowed = satisfied(states)
        states = states[allowed]
        codes = codes[allowed]
        scores = states @ unary + (states[:, pairs[:, 0]] & states[:, pairs[:, 1]]) @ pairwise
        best = np.concatenate((best, scores))
        new_codes = np.broadcast_to(codes[:, None], scores.shape)
        best_codes = np.concatenate((best_codes, new_codes))
        if len(best) > count:
            # A partition keeps the best `count`; their order is needed only once, at the end.
            places = np.argpartition(-best, count - 1, axis=0)[:count]
            best = np.take_along_axis(best, places, axis=0)
            best_codes = np.take_along_axis(best_codes, places, axis=0)
    order = np.argsort(-best, axis=0, kind="stable")
    best_codes = np.take_along_axis(best_codes, order, axis=0)
    return (best_codes.T[:, :, None] >> np.arange(n) & 1).astype(np.int8)
