"""A batch for backends that take one instance at a time: reduced first, then under one time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import numpy as np

from ...arrays import States
from ...problem import Problem
from ...solution import Maximiser
from .reduction import reduced
from .roof_duality import RoofDuality, roof_duality

SolveOne: TypeAlias = Callable[[Problem, float | None, np.ndarray | None], tuple[np.ndarray, float]]
"""(a single instance, seconds left, a state `[n]` to start from or None) -> its assignment `[n]` and an
upper bound on its score."""

ROOF_DUALITY_DEGREE = 20
"""Up to this mean degree roof duality fixes variables; in denser problems it takes time and fixes none."""

SHORTEST_SEARCH = 1e-3
"""Seconds that a backend gets at least, also where making its model took all that was left; some take no zero."""


def one_by_one(
    problem: Problem,
    time_limit: float | None,
    solve_one: SolveOne,
    threads: int = 1,
    start: States | None = None,
) -> Maximiser:
    """Fixes what roof duality fixes, then solves what is left of each instance.

    Instances that the time limit cuts off keep the fixed values, those of `start` or zeros elsewhere, and the
    roof-dual bound.

    Args:
        problem: coefficients on the host.
        time_limit: seconds for the batch.
        solve_one: the backend.
        threads: instances at once, for a backend that releases the interpreter's lock.
        start: `[batch, n]`, states to start from.
    """
    begin = time.monotonic()
    roof = _roof(problem)

    def solve(instance: int) -> tuple[np.ndarray, float, bool]:
        left = None if time_limit is None else time_limit - (time.monotonic() - begin)
        fixed = roof.fixed[instance]
        first = None if start is None else start[instance]
        if left is not None and left <= 0:
            return np.where(fixed < 0, 0 if first is None else first, fixed), roof.bound[instance], False
        rest = reduced(problem.unary[instance], problem.pairwise[instance], problem.edges, fixed)
        if not len(rest.unary):
            return fixed, roof.bound[instance], True
        single = Problem.from_arrays(rest.unary[None], rest.pairwise[None], edges=rest.edges)
        state, proved = solve_one(single, left, None if first is None else first[fixed < 0])
        return rest.lift(state), min(roof.bound[instance], rest.constant + proved), True

    workers = min(threads, problem.batch)
    if workers > 1:
        with ThreadPoolExecutor(workers) as pool:
            answers = list(pool.map(solve, range(problem.batch)))
    else:
        answers = [solve(instance) for instance in range(problem.batch)]
    z, bound, reached = (np.array(column) for column in zip(*answers, strict=True))
    fixed_count = int((roof.fixed >= 0).sum())
    stats = {
        "reached": int(reached.sum()),
        "fixed": fixed_count,
        "fixed_share": fixed_count / roof.fixed.size,
    }
    return Maximiser(z.astype(np.int8), bound, stats)


def _roof(problem: Problem) -> RoofDuality:
    """Roof duality where it pays; otherwise nothing fixed, and the sum of positive coefficients."""
    if 2 * problem.e <= ROOF_DUALITY_DEGREE * problem.n:
        return roof_duality(problem)
    return RoofDuality(np.full((problem.batch, problem.n), -1, np.int8), problem.positive_part)
