"""Where a search for one instance starts: an assignment of the caller's, or that of `local_search`."""

from __future__ import annotations

import numpy as np

from ...limits.deadline import Deadline
from ...problem import Problem
from .ascent import ascend
from .tabu import STARTS, default_flips, nanoseconds_a_run, tabu_search

START_SHARE, START_SECONDS = 0.1, 0.1
"""Of the time limit, at most, and seconds of work, for the first round of local search: all of it up to n = 5,000."""


def first_state(problem: Problem, given: np.ndarray | None, deadline: Deadline) -> np.ndarray:
    """`[n]`: `given` where there is one, after single flips that gain; else what `local_search` has without a limit.

    Args:
        problem: of a single instance, on the host.
        given: `[n]`, or None.
        deadline: of which local search may take a tenth of what is left; its runs are shorter where
            that is little.
    """
    if given is not None:
        return np.asarray(ascend(problem, given[None])[0])
    flips = default_flips(problem.n)
    share = START_SHARE * max(0.0, deadline.left)
    seconds_a_flip = 1e-9 * STARTS * nanoseconds_a_run(problem.n, 1)
    flips = max(1, int(min(flips, min(share, START_SECONDS) / seconds_a_flip)))
    arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
    soon = deadline.within(share)
    return np.asarray(tabu_search(*arrays, flips=flips, deadline=soon, threads=1, once=True)[0])


def local_optimum(problem: Problem, deadline: Deadline) -> np.ndarray:
    """`[n]`: what tabu search finds until a deadline that is too near for a proof."""
    arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
    return np.asarray(tabu_search(*arrays, deadline=deadline, threads=1)[0])


def without_model(problem: Problem, known: np.ndarray | None, deadline: Deadline) -> np.ndarray:
    """`[n]`: what tabu search finds until the deadline, or `known` where that is better or an interrupt came."""
    if known is not None and deadline.interrupted:
        return known
    found = local_optimum(problem, deadline)
    if known is None:
        return found
    return max(found, known, key=lambda z: float(problem.score_flat(z[None])[0]))


def best_state(problem: Problem, *states: np.ndarray) -> np.ndarray:
    """`[n]`: the best of some states `[n]` of a single instance, after single flips that gain.

    A floating-point backend may leave the last digits to such flips.
    """
    ascended = [ascend(problem, state[None]) for state in states]
    return np.asarray(max(ascended, key=lambda z: float(problem.score_flat(z)[0]))[0])
