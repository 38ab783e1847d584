"""Solve dense problems of any signs beyond enumeration, by branch and bound."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ..algorithms.branch_and_bound.counted import search_counted
from ..algorithms.branch_and_bound.search import DenseSearch, rank_dense, search_dense
from ..algorithms.local_search.warm_start import without_model
from ..algorithms.presolve.decomposition import single_instance
from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.presolve.ranked import ranked
from ..algorithms.presolve.reduction import Reduced, reduced
from ..arrays import States
from ..compiled.threads import available_cores
from ..constraint_rows import Count, Rows
from ..errors import InfeasibleError
from ..limits.deadline import Deadline
from ..limits.interrupts import in_threads
from ..limits.progress import Known
from ..options import check_threads
from ..paused import PausedSolver
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser, Ranking
from ..solver import ArgmaxSolver, Capabilities


@dataclass(frozen=True)
class BranchAndBound(ArgmaxSolver):
    """Exact solver of dense problems of any signs, quick up to about 150 variables.

    Some problems of 200 variables are quick, too. A depth-first search takes its bounds from a
    concave relaxation on the box, whose diagonal is close to the dual of the semidefinite
    relaxation. If that leaves a large gap, triangle inequalities of the semidefinite relaxation
    lower the bounds, first in another depth-first search and then in a best-first search.
    Instances of a batch share the cores. A constraint on the number of ones in a group becomes a
    linear and a concave term of problems without constraints.

    Attributes:
        threads: number of instances at once; None for all cores.
        start: initial assignments `[..., n]`, which broadcast to the batch; None to start from the
            solution of `local_search`.

    References:
        Billionnet, Elloumi (2007), Using a mixed integer quadratic programming solver for the
        unconstrained quadratic 0-1 problem.
        Wang, Chang, Kolter (2017), The mixing method: low-rank coordinate descent for semidefinite
        programming with diagonal constraints.
        Rendl, Rinaldi, Wiegele (2010), Solving max-cut to optimality by intersecting semidefinite
        and polyhedral relaxations.
    """

    threads: int | None = None
    start: Any = field(default=None, compare=False)

    name = "branch_and_bound"
    capabilities = Capabilities(exact=True, max_size=600, time_limit=True, constraints=2**54)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        threads = self.threads or available_cores()
        return one_by_one(problem, deadline, _solve, threads, given_states(self.start, problem))

    def paused(self) -> PausedSolver[DenseSearch]:
        """Return this solver for one instance that is searched in several runs."""
        return PausedBranchAndBound(start=self.start)

    def why_not_within(self, problem: Problem, constraints: Rows) -> str | None:
        """Return why the solver cannot take constraints: they must bound the count of one group."""
        if reason := super().why_not_within(problem, constraints):
            return reason
        if constraints.as_count() is None:
            return (
                "it takes bounds on how many variables of one group are 1, and fixed variables, "
                "and no other constraints"
            )
        return None

    def _argmax_within(self, problem: Problem, constraints: Rows, deadline: Deadline) -> Maximiser:
        count = constraints.as_count()
        if count is None or count.impossible:
            raise InfeasibleError(constraints.names)
        start = given_states(self.start, problem)
        starts: list[np.ndarray | None] = [None] * problem.batch
        if start is not None:
            starts = list(start)
        calls = []
        for b, z in enumerate(starts):
            feasible = z is not None and constraints.satisfied(z[None])[0]
            first = None
            if feasible:
                first = z
            calls.append(partial(_solve_within, problem, b, count, deadline, first))
        states, bounds = zip(*in_threads(calls, self.threads or available_cores()), strict=True)
        return Maximiser(np.stack(states), np.array(bounds))

    def best_states(self, problem: Problem, count: int, deadline: Deadline) -> Ranking:
        """Return the `count` states of highest score, from one search that keeps `count` states."""
        return ranked(problem, count, deadline, _rank, self.threads or available_cores())


@dataclass(frozen=True)
class PausedBranchAndBound(PausedSolver[DenseSearch]):
    """`branch_and_bound` for one instance in several runs."""

    name = BranchAndBound.name
    capabilities = replace(BranchAndBound.capabilities, constraints=None)

    def _begun(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> DenseSearch | None:
        if deadline.passed:
            return None
        return DenseSearch(problem, deadline, start)

    def _resume(self, search: DenseSearch, deadline: Deadline) -> None:
        search.run(deadline)

    def _without_search(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> Maximiser:
        z = without_model(problem, start, deadline)
        return Maximiser(z[None], np.array([float(problem.positive_part[0])]))


def _solve(
    problem: Problem, deadline: Deadline, start: np.ndarray | None
) -> tuple[np.ndarray, float]:
    return search_dense(problem, deadline, start)[:2]


def _rank(problem: Problem, deadline: Deadline, count: int) -> tuple[States, float]:
    return rank_dense(problem, deadline, count)[:2]


def _solve_within(
    problem: Problem, instance: int, count: Count, deadline: Deadline, start: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Solve one instance of a batch: fix variables, search the rest, lift the solution."""
    pairs = problem.topology.pairs
    whole = single_instance(problem.unary[instance], problem.pairwise[instance], pairs)
    values = count.implied
    left = reduced(whole.unary[0], whole.pairwise[0], pairs, values)
    free = values < 0
    if not free.any():
        return values, float(whole.score_flat(values[None])[0])
    rest = single_instance(left.unary, left.pairwise, left.edges)
    ones = int(values[count.group & ~free].sum())
    alone = slice(instance, instance + 1)
    mine = deadline.within_whole(rest, lambda news: _lifted(news, left, whole)._replace(rows=alone))
    ends = count.low - ones, count.high - ones
    first = None
    if start is not None:
        first = start[free]
    z, bound = search_counted(rest, count.group[free], *ends, mine, first)
    solution = left.lift(z)
    if free.all():
        return solution, bound
    # A proof holds up to rounding; without this, the roundings of both bounds would add up.
    if bound - rest.score_flat(z[None])[0] <= rest.rounding[0]:
        return solution, float(whole.score_flat(solution[None])[0])
    return solution, bound + left.constant + float(whole.rounding[0]) / 2


def _lifted(news: Known, left: Reduced, whole: Problem) -> Known:
    z = None
    if news.z is not None:
        z = left.lift(news.z)
    bound = None
    if news.bound is not None:
        bound = news.bound + left.constant + whole.rounding / 2
    return Known(z, bound)
