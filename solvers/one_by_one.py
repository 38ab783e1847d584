"""A batch for backends that take one instance at a time, under one time limit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from .problem import Problem
from .solver import Maximiser

SolveOne: TypeAlias = Callable[[int, float | None], tuple[np.ndarray, float]]
"""(instance, seconds left) -> its assignment `[n]` and an upper bound on its score."""


def one_by_one(problem: Problem, time_limit: float | None, solve_one: SolveOne) -> Maximiser:
    """Solves the instances in order; those that the time limit cuts off keep z = 0.

    Their bound is then the sum of their positive coefficients.
    """
    z = np.zeros((problem.batch, problem.n), np.int8)
    bound = np.maximum(problem.unary, 0).sum(axis=1, dtype=np.float64)
    bound += np.maximum(problem.pairwise, 0).sum(axis=1, dtype=np.float64)
    start = time.monotonic()
    for instance in range(problem.batch):
        left = None if time_limit is None else time_limit - (time.monotonic() - start)
        if left is not None and left <= 0:
            return Maximiser(z, bound, {"reached": instance})
        z[instance], proved = solve_one(instance, left)
        bound[instance] = min(bound[instance], proved)
    return Maximiser(z, bound, {"reached": problem.batch})
