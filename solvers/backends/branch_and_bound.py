"""Dense problems of any signs beyond enumeration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithms.branch_and_bound.search import rank_dense, search_dense
from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.presolve.ranked import ranked
from ..arrays import States
from ..compiled.threads import available_cores
from ..limits.deadline import Deadline
from ..options import check_threads
from ..problem import Problem
from ..solution import Maximiser, Ranking
from ..solver import ArgmaxSolver, Capabilities
from ..starts import given_states


@dataclass(frozen=True)
class BranchAndBound(ArgmaxSolver):
    """Exact for dense problems of any signs: quick up to about 100 variables, on a good day at 200.

    Depth-first search with a bound from a concave relaxation on the box, whose diagonal is near the dual of
    the semidefinite relaxation. Where that leaves a large gap, best-first search with triangle inequalities in the
    semidefinite relaxation. Instances of a batch share the cores.

    Attributes:
        threads: instances at once; None for all cores.
        start: assignments `[..., n]` to start from, which broadcast to the batch; None for those that a
            short tabu search finds.

    References:
        Billionnet, Elloumi (2007), Using a mixed integer quadratic programming solver for the unconstrained
        quadratic 0-1 problem.
        Wang, Chang, Kolter (2017), The mixing method: low-rank coordinate descent for semidefinite
        programming with diagonal constraints.
        Rendl, Rinaldi, Wiegele (2010), Solving max-cut to optimality by intersecting semidefinite and polyhedral
        relaxations.
    """

    threads: int | None = None
    start: Any = field(default=None, compare=False)

    name = "branch_and_bound"
    capabilities = Capabilities(exact=True, max_size=600, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        threads = self.threads or available_cores()
        return one_by_one(problem, time_limit, _solve, threads, given_states(self.start, problem))

    def best_states(self, problem: Problem, count: int, time_limit: float | None = None) -> Ranking:
        """Those of highest score, of one search that keeps so many."""
        return ranked(problem, count, time_limit, _rank, self.threads or available_cores())


def _solve(problem: Problem, deadline: Deadline, start: np.ndarray | None) -> tuple[np.ndarray, float]:
    return search_dense(problem, deadline, start)[:2]


def _rank(problem: Problem, deadline: Deadline, count: int) -> tuple[States, float]:
    return rank_dense(problem, deadline, count)[:2]
