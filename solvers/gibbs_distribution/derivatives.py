"""Differentiate marginals along a direction, and conditionals of samples, by either method."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.elimination.plan import cached_plan
from ..arrays import Scores
from ..problem import Problem
from . import enumeration_derivative, sum_product_completions, sum_product_derivative
from .enumeration import RunningSums
from .samples import Drawn


@dataclass(frozen=True, eq=False)
class FreeSums:
    """The sums over the states of the variables without evidence, on the host.

    Attributes:
        problem: of these variables.
        log_partition: `[batch]`.
        marginals: `[batch, n + e]`.
        running: what enumeration has kept; None for elimination.
    """

    problem: Problem
    log_partition: Scores
    marginals: np.ndarray
    running: RunningSums | None

    def scores(self) -> np.ndarray:
        """`[batch, n + e]`: the float64 scores that were summed."""
        if self.running is not None:
            return self.running.coefficients
        parts = (self.problem.unary, self.problem.pairwise)
        return np.concatenate(parts, axis=1, dtype=np.float64)


def derivative(
    free: FreeSums,
    drawn: Drawn | None,
    direction: np.ndarray | None,
    threads: int | None,
) -> np.ndarray:
    """Return the gradient `[batch, n + e]` of direction . marginals plus weighted conditionals.

    The second summand is that of changes * P(z_v = 1 | drawn before) over the samples.

    Args:
        free: sums over all states.
        drawn: samples and their changes; None for none.
        direction: `[batch, n + e]`, finite; None for zeros.
        threads: most threads to use; None for all cores.
    """
    problem = free.problem
    # Only ratios matter to rounding and overflow.
    parts = [
        weights
        for weights in (direction, None if drawn is None else drawn.changes)
        if weights is not None
    ]
    largest = [
        np.abs(weights).max(axis=tuple(range(1, weights.ndim)), initial=0.0) for weights in parts
    ]
    scale = np.maximum(np.max(largest, axis=0), np.finfo(np.float64).tiny)[:, None]
    if drawn is not None:
        drawn = drawn._replace(changes=np.ascontiguousarray(drawn.changes / scale[..., None]))
    if direction is not None:
        direction = direction / scale
    if free.running is None:
        gradient = _by_elimination(problem, drawn, direction, threads)
    else:
        along = np.zeros(free.marginals.shape) if direction is None else direction
        means = np.sum(free.marginals * along, axis=1)
        gradient = enumeration_derivative.derivative(
            free.running, problem.edges, drawn or _nothing(problem), along, means, threads
        )
    gradient *= scale
    return gradient


def _by_elimination(
    problem: Problem, drawn: Drawn | None, direction: np.ndarray | None, threads: int | None
) -> np.ndarray:
    """`[batch, n + e]`."""
    plan = problem.topology.recall(cached_plan)
    scores = (problem.unary, problem.pairwise)
    gradient = np.zeros((problem.batch, problem.n + problem.e))
    if direction is not None:
        gradient += sum_product_derivative.covariance_product(plan, *scores, direction, threads)
    if drawn is not None:
        gradient += sum_product_completions.derivative(plan, *scores, drawn, threads)
    return gradient


def _nothing(problem: Problem) -> Drawn:
    """No samples."""
    chosen = np.empty((problem.batch, 0, 0), np.int64)
    return Drawn(np.empty((problem.batch, 0, problem.n), np.int8), chosen, np.empty(chosen.shape))
