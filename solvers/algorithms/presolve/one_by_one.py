"""A batch for backends that take one instance at a time: reduced first, then under one time limit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from ...arrays import States, home_of
from ...deadline import Deadline
from ...interrupts import in_threads
from ...problem import Problem
from ...solution import Maximiser
from ...topology import Topology
from .reduction import Reduced, reduced
from .roof_duality import RoofDuality, roof_duality

SolveOne: TypeAlias = Callable[[Problem, Deadline, np.ndarray | None], tuple[np.ndarray, float]]
"""(a single instance, when to end, a state `[n]` to start from or None) -> its assignment `[n]` and an
upper bound on its score."""

ROOF_DUALITY_DEGREE = 20
"""Up to this mean degree roof duality fixes variables; in denser problems it takes time and fixes none."""


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
    deadline = Deadline.after(time_limit)
    known = _roof(problem, deadline)

    def solve(instance: int) -> tuple[np.ndarray, float, bool]:
        fixed = known.fixed[instance]
        first = None if start is None else start[instance]
        if deadline.passed:
            return np.where(fixed < 0, 0 if first is None else first, fixed), known.bound[instance], False
        rest = reduced(problem.unary[instance], problem.pairwise[instance], problem.edges, fixed)
        if not len(rest.unary):
            return fixed, known.bound[instance], True
        state, proved = solve_one(_single(rest), deadline, None if first is None else first[fixed < 0])
        return rest.lift(state), min(known.bound[instance], rest.constant + proved), True

    calls = [partial(solve, instance) for instance in range(problem.batch)]
    answers = in_threads(calls, threads) if min(threads, problem.batch) > 1 else [call() for call in calls]
    z, bound, reached = (np.array(column) for column in zip(*answers, strict=True))
    fixed_count = int((known.fixed >= 0).sum())
    stats = {
        "reached": int(reached.sum()),
        "fixed": fixed_count,
        "fixed_share": fixed_count / known.fixed.size,
    }
    return Maximiser(z.astype(np.int8), bound, stats)


def _single(rest: Reduced) -> Problem:
    """What is left of an instance, which needs no check."""
    unary, pairwise = rest.unary[None], rest.pairwise[None]
    topology = Topology(len(rest.unary), rest.edges)
    return Problem(unary, pairwise, topology, leading=(1,), home=home_of(unary))


def _roof(problem: Problem, deadline: Deadline) -> RoofDuality:
    """Roof duality where it pays; otherwise nothing fixed, and a bound that is had at once."""
    if 2 * problem.e <= ROOF_DUALITY_DEGREE * problem.n:
        return roof_duality(problem, deadline)
    return RoofDuality.free(problem)
