"""The best among those of the 2^n states that satisfy constraints."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...arrays import States
from ...problem import Problem

CHUNK = 1 << 14
"""States at once."""


def best_feasible(
    problem: Problem, satisfied: Callable[[States], np.ndarray], count: int = 1
) -> States:
    """`[batch, found, n]` int8, the best first; as many as satisfy the constraints, at most `count`.

    Args:
        problem: on the host, at most 25 variables.
        satisfied: `[states]`, of states `[states, n]`.
        count: at least 1.
    """
    n, pairs = problem.n, problem.topology.pairs
    unary, pairwise = (np.asarray(part, np.float64).T for part in (problem.unary, problem.pairwise))
    best, found = np.empty((0, problem.batch)), np.empty((0, problem.batch), np.int64)
    for start in range(0, 1 << n, CHUNK):
        codes = np.arange(start, min(start + CHUNK, 1 << n))
        states = (codes[:, None] >> np.arange(n) & 1).astype(np.int8)
        allowed = satisfied(states)
        states, codes = states[allowed], codes[allowed]
        scores = states @ unary + (states[:, pairs[:, 0]] & states[:, pairs[:, 1]]) @ pairwise
        best = np.concatenate((best, scores))
        found = np.concatenate((found, np.broadcast_to(codes[:, None], scores.shape)))
        if len(best) > count:
            best, found = _taken(best, found, np.argpartition(-best, count - 1, axis=0)[:count])
    _, found = _taken(best, found, np.argsort(-best, axis=0, kind="stable"))
    return (found.T[:, :, None] >> np.arange(n) & 1).astype(np.int8)


def _taken(
    best: np.ndarray, found: np.ndarray, places: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    return np.take_along_axis(best, places, axis=0), np.take_along_axis(found, places, axis=0)
