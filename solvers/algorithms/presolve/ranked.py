"""Rank the best states of every instance, with a backend that takes one instance at a time.

Nothing is fixed or taken out first: presolve preserves only one state of highest score, not the
runners-up.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from ...arrays import States
from ...limits.deadline import Deadline
from ...limits.interrupts import run_calls
from ...problems.flips import flip_gains_of_each
from ...problems.problem import Problem
from ...solution import Ranking
from ..local_search.near_states import near_states_of_each
from .decomposition import single_instance
from .one_by_one import MOST_CLIMBED, states_without_search

RankOne: TypeAlias = Callable[[Problem, Deadline, int], tuple[States, float]]
"""Rank one instance: (single instance, deadline, count) -> states and bound.

The states `[count, n]` are ordered, the best first; the bound holds for all other states."""


def ranked(
    problem: Problem, count: int, deadline: Deadline, rank_one: RankOne, threads: int
) -> Ranking:
    """Return the best states of every instance of a batch.

    Instances that the time limit cuts off get states that need no search, with a bound on all.

    Args:
        problem: the batch, with coefficients on the host.
        count: number of states per instance, at most 2^n.
        deadline: the deadline of the batch.
        rank_one: the backend, called for one instance.
        threads: number of instances at once, for a backend that releases the interpreter's lock.

    Returns:
        The states of each instance in the backend's order; `solvers.ranking` sorts them.
    """
    pairs = problem.topology.pairs

    def rank(instance: int) -> tuple[States, float] | None:
        if deadline.passed:
            return None
        single = single_instance(problem.unary[instance], problem.pairwise[instance], pairs)
        alone = slice(instance, instance + 1)
        mine = deadline.within_whole(single, lambda news: news._replace(rows=alone))
        return rank_one(single, mine, count)

    calls = [partial(rank, instance) for instance in range(problem.batch)]
    answers = run_calls(calls, threads)
    states = np.empty((problem.batch, count, problem.n), np.int8)
    bounds = np.empty(problem.batch)
    reached = np.zeros(problem.batch, bool)
    for instance, answer in enumerate(answers):
        if answer is not None:
            states[instance], bounds[instance] = answer
            reached[instance] = True
    return completed(problem, states, bounds, reached)


def completed(problem: Problem, states: States, bounds: np.ndarray, reached: np.ndarray) -> Ranking:
    """Return the states and bounds of a batch, some of whose instances were not reached in time.

    Args:
        problem: the batch, with coefficients on the host.
        states: `[batch, count, n]`; those of instances that were not reached are written here.
        bounds: `[batch]`, bounds on all other states; written in the same way.
        reached: `[batch]`, bool.
    """
    if not reached.all():
        late = np.flatnonzero(~reached)
        rest = problem.instances(late)
        states[late], bounds[late] = unranked(rest, states.shape[1])
    return Ranking(states, bounds)


def first_ranked(problem: Problem, states: States, reached: int) -> Ranking:
    """Return the states of a batch, whose first instances were ranked before the deadline.

    Args:
        problem: the batch, with coefficients on the host.
        states: `[batch, count, n]`, the best first; those of late instances are written here.
        reached: number of instances whose states are the best ones.
    """
    if reached == problem.batch:
        return Ranking(states)
    # The other states score no more than the last one of the best states.
    bounds = problem.score_flat(np.ascontiguousarray(states[:, -1]))
    return completed(problem, states, bounds, np.arange(problem.batch) < reached)


def unranked(problem: Problem, count: int) -> tuple[States, np.ndarray]:
    """Return states `[batch, count, n]` that need no search, and bounds `[batch]` on all states.

    Args:
        problem: a problem with coefficients on the host.
        count: number of states per instance, at most 2^n.
    """
    zeros = np.zeros((problem.batch, problem.n), np.int8)
    z = zeros
    if problem.batch * (problem.n + problem.e) <= MOST_CLIMBED:
        z = states_without_search(problem, np.full_like(zeros, -1))
    gains = np.asarray(problem.unary, np.float64)
    if z.any():
        gains = flip_gains_of_each(problem, z)
    return near_states_of_each(z, gains, count), np.array(problem.positive_part)
