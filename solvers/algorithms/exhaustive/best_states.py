"""Rank the states of highest score among all 2^n, in order."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...compiled._kernels import exhaustive as kernels
from ...compiled.threads import over_slices
from ...problems.problem import Problem


def best_states(problem: Problem, count: int, threads: int | None) -> States:
    """Return the best states `[batch, count, n]` int8 of a host problem, the best first."""
    n = problem.n
    unary = np.ascontiguousarray(problem.unary, np.float64)
    pairwise = np.zeros((problem.batch, n, n))
    pairs = problem.topology.pairs
    pairwise[:, pairs[:, 0], pairs[:, 1]] = pairwise[:, pairs[:, 1], pairs[:, 0]] = problem.pairwise
    codes = np.zeros((problem.batch, count), np.int64)
    over_slices(kernels.best_codes, unary, pairwise, codes, nanoseconds=4 * 2.0**n, threads=threads)
    return (codes[:, :, None] >> np.arange(n) & 1).astype(np.int8)
