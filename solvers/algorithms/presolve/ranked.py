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
from ...problems.problem import Problem
from ...solution import Ranking
from ..local_search.near_states import states_around
from .decomposition import single_instance

RankOne: TypeAlias = Callable[[Problem, Deadline, int], tuple[States, float]]
"""Rank one instance: (single instance, deadline, count) -> states and bound.

The states `[count, n]` are ordered, the best first; the bound holds for all other states."""


def ranked(
    problem: Problem, count: int, deadline: Deadline, rank_one: RankOne, threads: int
) -> Ranking:
    """Return the best states of every instance of a batch.

    Instances that the time limit cuts off get the states around all zeros, with a bound on all.

    Args:
        problem: the batch, with coefficients on the host.
        count: number of states per instance, at most 2^n.
        deadline: of the batch.
        rank_one: the backend, called for one instance.
        threads: instances at once, for a backend that releases the interpreter's lock.

    Returns:
        The states of each instance in the backend's order; `solvers.ranking` sorts them.
    """
    pairs = problem.topology.pairs

    def rank(instance: int) -> tuple[States, float]:
        single = single_instance(problem.unary[instance], problem.pairwise[instance], pairs)
        if deadline.passed:
            around = states_around(single, np.zeros(problem.n, np.int8), count)
            return around[:count], float(single.positive_part[0])
        alone = slice(instance, instance + 1)
        mine = deadline.within_whole(single, lambda news: news._replace(rows=alone))
        return rank_one(single, mine, count)

    calls = [partial(rank, instance) for instance in range(problem.batch)]
    answers = run_calls(calls, threads)
    states, bounds = zip(*answers, strict=True)
    return Ranking(np.stack(states), np.array(bounds))
