"""The best states of every instance of a batch, for backends that take one instance at a time.

Nothing is fixed or taken out before: presolve keeps one state of highest score, and of the others
it knows nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np

from ...arrays import States
from ...limits.deadline import Deadline
from ...limits.interrupts import in_threads
from ...problem import Problem
from ...solution import Ranking
from ..local_search.near_states import states_around
from .decomposition import single_instance

RankOne: TypeAlias = Callable[[Problem, Deadline, int], tuple[States, float]]
"""(a single instance, when to end, how many) -> `[count, n]`, the best first, and a bound on all other states."""


def ranked(
    problem: Problem, count: int, time_limit: float | None, rank_one: RankOne, threads: int
) -> Ranking:
    """The best states of a batch.

    Instances that the time limit cuts off get states around that of all zeros, with a bound on all.

    Args:
        problem: coefficients on the host.
        count: at most 2^n.
        time_limit: seconds for the batch.
        rank_one: the backend.
        threads: instances at once, for a backend that releases the interpreter's lock.

    Returns:
        The states of each instance in the order of the backend: `solvers.ranking` puts them in
        order.
    """
    deadline, pairs = Deadline.after(time_limit), problem.topology.pairs

    def rank(instance: int) -> tuple[States, float]:
        single = single_instance(problem.unary[instance], problem.pairwise[instance], pairs)
        if deadline.passed:
            around = states_around(single, np.zeros(problem.n, np.int8), count)
            return around[:count], float(single.positive_part[0])
        part = slice(instance, instance + 1)
        mine = deadline.within_whole(single, lambda known: known._replace(part=part))
        return rank_one(single, mine, count)

    calls = [partial(rank, instance) for instance in range(problem.batch)]
    answers = (
        in_threads(calls, threads)
        if min(threads, problem.batch) > 1
        else [call() for call in calls]
    )
    states, bounds = zip(*answers, strict=True)
    return Ranking(np.stack(states), np.array(bounds))
