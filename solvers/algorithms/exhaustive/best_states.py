"""Rank the states of highest score among all 2^n, in order."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...compiled._kernels import exhaustive as kernels
from ...compiled.threads import over_slices
from ...limits.deadline import Deadline
from ...problems.problem import Problem

NANOSECONDS_TOGETHER = 2e7
"""Work on instances between two checks of the time."""


def best_states(
    problem: Problem, count: int, threads: int | None, deadline: Deadline
) -> tuple[States, int]:
    """Return the best states `[batch, count, n]` int8 of a host problem, the best first.

    The number is that of the first instances, which were reached before the deadline.
    """
    n = problem.n
    unary = np.ascontiguousarray(problem.unary, np.float64)
    pairwise = np.zeros((problem.batch, n, n))
    pairs = problem.topology.pairs
    pairwise[:, pairs[:, 0], pairs[:, 1]] = pairwise[:, pairs[:, 1], pairs[:, 0]] = problem.pairwise
    codes = np.zeros((problem.batch, count), np.int64)
    nanoseconds = 4 * 2.0**n
    together = problem.batch
    if deadline.limited:
        together = max(1, int(NANOSECONDS_TOGETHER / nanoseconds))
    reached = 0
    while reached < problem.batch and not deadline.passed:
        rows = slice(reached, reached + together)
        arrays = unary[rows], pairwise[rows], codes[rows]
        over_slices(kernels.best_codes, *arrays, nanoseconds=nanoseconds, threads=threads)
        reached = min(reached + together, problem.batch)
    return (codes[:, :, None] >> np.arange(n) & 1).astype(np.int8), reached
