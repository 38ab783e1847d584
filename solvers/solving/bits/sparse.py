"""Solve sparse problems with several backends.

Presolve runs first. Then the backends that suit a part of an instance run on it in turn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...algorithms.local_search.near_states import states_around
from ...algorithms.presolve.one_by_one import one_by_one
from ...algorithms.presolve.ranked import ranked
from ...arrays import States
from ...compiled.threads import available_cores
from ...limits.deadline import Deadline
from ...limits.progress import watched_by
from ...options import check_threads
from ...problems.problem import Problem
from ...problems.starts import given_states
from ...ranking import ranked_states
from ...solution import Maximiser, Ranking
from ...solver import ArgmaxSolver
from ..portfolio import SEPARATOR, Portfolio, Search, Turn
from .sparse_turns import turns
from .turn_lengths import (
    EDGE_DEGREE,
    MORE_VISITS,
    QUICK_ENTRIES,
    QUICK_WIDTH,
    entries_of_tables,
    with_one_thread,
)

RANKED_SECONDS = 5.0
"""Maximum seconds of each search for several states at once.

If these searches fail, states are excluded one after the other. That usually takes some tens of
times as long as one search.
"""


@dataclass(frozen=True)
class SparsePortfolio(Portfolio[Problem], ArgmaxSolver):
    """Solver that `auto` uses for sparse problems over bits.

    It chooses the backends of a part after presolve has made the part smaller. If presolve solves
    all parts, `Solution.solver` is `presolve`.

    Attributes:
        threads: number of instances at once; None for all cores.
    """

    threads: int | None = None

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def turns(self, problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
        """Yield the backends that run on a part."""
        return turns(problem, deadline)

    def _searched(self, problem: Problem, deadline: Deadline, search: Search) -> Maximiser:
        def solve(
            subproblem: Problem, until: Deadline, start: np.ndarray | None
        ) -> tuple[np.ndarray, float]:
            states = None
            if start is not None:
                states = start[None]
            outcome = search(subproblem, until, states)
            return outcome.z[0], float(outcome.bound[0])

        threads = self.threads or available_cores()
        return one_by_one(problem, deadline, solve, threads, given_states(self.start, problem))

    def best_states(self, problem: Problem, count: int, deadline: Deadline) -> Ranking:
        """Return the states of highest score of every instance, with bounds.

        The bound of an instance is infinite if no search proves its states in time.
        """
        names: Counter[str] = Counter()

        def rank(subproblem: Problem, deadline: Deadline, count: int) -> tuple[States, float]:
            states, bound, name = rank_in_turn(subproblem, deadline, count)
            names[name] += 1
            return states, bound

        ranking = ranked(problem, count, deadline, rank, self.threads or available_cores())
        return replace(ranking, solver=SEPARATOR.join(name for name, _ in names.most_common()))


def rank_in_turn(problem: Problem, deadline: Deadline, count: int) -> tuple[States, float, str]:
    """Return the best states `[count, n]` of one search, a bound on the others, and the backend.

    The bound is infinite if no backend proved the states although there was time for it.

    Args:
        problem: a problem of one instance, on the host.
        deadline: when to end.
        count: how many.
    """
    # The first states are returned if no backend ranks any states before the deadline.
    best = states_around(problem, np.zeros(problem.n, np.int8), count)[:count]
    least = math.inf
    name = ""
    for turn in ranking_turns(problem):
        solver = turn.solver
        until = turn.deadline(deadline)
        with watched_by(until.watch):
            ranking = ranked_states(solver, problem, count, until)
        if ranking is None:
            continue
        others = float(ranking.others[0])
        # No other state scores more than the last one, which proves the ranking.
        if others - ranking.last[0] <= problem.rounding[0]:
            return ranking.z[0], others, solver.name
        if others < least:
            best = ranking.z[0]
            least = others
            name = solver.name
        if deadline.passed:
            return best, least, name
    return best, math.inf, "exclusion"


def ranking_turns(problem: Problem) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends that rank states of a part, until one has proved them."""
    if entries_of_tables(problem, QUICK_WIDTH) <= QUICK_ENTRIES:
        yield Turn(with_one_thread("elimination"))
    yield Turn(with_one_thread("dual_ascent", visits=MORE_VISITS), RANKED_SECONDS)
    searches = [with_one_thread("dual_ascent")]
    branch_and_bound = with_one_thread("branch_and_bound")
    if not branch_and_bound.why_not(problem):
        searches.append(branch_and_bound)
    if 2 * problem.e > EDGE_DEGREE * problem.n:
        searches.reverse()
    for solver in searches:
        yield Turn(solver, RANKED_SECONDS)
