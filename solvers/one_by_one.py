"""A batch for backends that take one instance at a time: reduced first, then under one time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .problem import Problem
from .reduction import reduced
from .roof_duality import roof_duality
from .solver import Maximiser

SolveOne: TypeAlias = Callable[[Problem, float | None], tuple[np.ndarray, float]]
"""(a single instance, seconds left) -> its assignment `[n]` and an upper bound on its score."""


def one_by_one(problem: Problem, time_limit: float | None, solve_one: SolveOne) -> Maximiser:
    """Fixes what roof duality fixes, then solves what is left of each instance, in order.

    Instances that the time limit cuts off keep the fixed values, zeros elsewhere, and the roof-dual bound.
    """
    start = time.monotonic()
    roof = roof_duality(problem)
    z = np.maximum(roof.fixed, 0).astype(np.int8)
    bound = roof.bound.copy()
    reached = problem.batch
    for instance, fixed in enumerate(roof.fixed):
        left = None if time_limit is None else time_limit - (time.monotonic() - start)
        if left is not None and left <= 0:
            reached = instance
            break
        rest = reduced(problem.unary[instance], problem.pairwise[instance], problem.edges, fixed)
        if not len(rest.unary):
            continue
        single = Problem.from_arrays(rest.unary[None], rest.pairwise[None], edges=rest.edges)
        state, proved = solve_one(single, left)
        z[instance] = rest.lift(state)
        bound[instance] = min(bound[instance], rest.constant + proved)
    fixed_count = int((roof.fixed >= 0).sum())
    stats = {"reached": reached, "fixed": fixed_count, "fixed_share": fixed_count / roof.fixed.size}
    return Maximiser(z, bound, stats)
