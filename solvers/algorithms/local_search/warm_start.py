"""Choose where a search for one instance starts: at the caller's state or by local search."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...compiled.threads import available_cores
from ...limits.deadline import Deadline
from ...problems.problem import Problem
from .ascent import ascend
from .tabu import STARTS, TabuSearch, default_flips, nanoseconds_a_run, tabu_search

START_SHARE = 0.1
"""Maximum share of the time limit for the first local search."""

START_SECONDS = 0.1
"""Seconds of work of the first local search at most, which is all of it up to n = 5,000."""

LATE_SECONDS = 0.05
"""Seconds of local search after a time limit has ended a method that has no state before its end."""


def first_state(problem: Problem, start: np.ndarray | None, deadline: Deadline) -> np.ndarray:
    """Return the state `[n]` to begin with: `start` after flips that gain, or local search's.

    Args:
        problem: a single instance on the host.
        start: the caller's state `[n]`, or None.
        deadline: the deadline; local search may take a tenth of the remaining time, and its runs
            are shorter if little time remains.
    """
    if start is not None:
        return np.asarray(ascend(problem, start[None])[0])
    flips = default_flips(problem.n)
    share = START_SHARE * max(0.0, deadline.left)
    seconds_a_flip = 1e-9 * STARTS * nanoseconds_a_run(problem.n, 1)
    flips = max(1, int(min(flips, min(share, START_SECONDS) / seconds_a_flip)))
    arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
    soon = deadline.within(share)
    return np.asarray(TabuSearch(*arrays, flips=flips, threads=1).run(STARTS, soon)[0])


def local_optimum(problem: Problem, deadline: Deadline) -> np.ndarray:
    """Return the result `[n]` of tabu search, for a deadline that is too near for a certificate."""
    arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
    return np.asarray(tabu_search(*arrays, deadline=deadline, threads=1)[0])


def late_states(problem: Problem, threads: int | None) -> States:
    """Return states `[batch, n]` of tabu search, a moment after a method was ended without one.

    Args:
        problem: a batch on the host.
        threads: maximum number of threads; None for all cores.
    """
    arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
    soon = Deadline.after(LATE_SECONDS)
    return tabu_search(*arrays, deadline=soon, threads=threads or available_cores())


def without_model(problem: Problem, start: np.ndarray | None, deadline: Deadline) -> np.ndarray:
    """Return the better of `start` and tabu search's state `[n]`; `start` after an interrupt."""
    if start is not None and deadline.interrupted:
        return start
    solution = local_optimum(problem, deadline)
    if start is None:
        return solution
    return max(solution, start, key=lambda z: float(problem.score_flat(z[None])[0]))


def best_state(problem: Problem, *states: np.ndarray) -> np.ndarray:
    """Return the best of some states `[n]` of a single instance, after single flips that gain.

    A floating-point backend may leave the last digits of a score to such flips.
    """
    ascended = [ascend(problem, state[None]) for state in states]
    return np.asarray(max(ascended, key=lambda z: float(problem.score_flat(z)[0]))[0])
