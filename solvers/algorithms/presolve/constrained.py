"""A batch of constrained problems for backends that build a model of each instance: nothing is fixed or taken out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problem import Problem
from ...solution import Maximiser
from .decomposition import single_instance

MOST_WHOLE = 10**6
"""Largest sum of the magnitudes of a constraint's coefficients for solvers in floating point: their tolerances, of 1e-9
and less, are then no part of a unit."""

SolveWithin: TypeAlias = Callable[[Problem, Deadline], tuple[np.ndarray | None, float]]
"""(a single instance, when to end) -> its state `[n]`, None where none was found, and an upper bound on its score."""


def each_instance(problem: Problem, time_limit: float | None, solve_one: SolveWithin) -> Maximiser:
    """One instance after the other, within one limit; -1 for a state that was not found."""
    deadline = Deadline.after(time_limit)
    z, bounds = np.full((problem.batch, problem.n), -1, np.int8), np.array(problem.positive_part)
    for b in range(problem.batch):
        if deadline.passed:
            break
        single = single_instance(problem.unary[b], problem.pairwise[b], problem.topology.pairs)
        share = deadline.within(deadline.left / (problem.batch - b))
        share = share.within_whole(single, partial(Known._replace, part=slice(b, b + 1)))
        state, bound = solve_one(single, share)
        bounds[b] = min(bounds[b], bound)
        if state is not None:
            z[b] = state
    return Maximiser(z, bounds)
