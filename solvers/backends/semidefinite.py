"""Bound large problems of any signs by semidefinite programming, beside a local search."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.semidefinite.search import search_semidefinite
from ..compiled.threads import available_cores
from ..limits.deadline import Deadline
from ..options import check_threads
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities


@dataclass(frozen=True)
class Semidefinite(ArgmaxSolver):
    """Solver with bounds within some per cent, for up to some thousand variables.

    The bound is the semidefinite relaxation of the problem as a maximum cut, with vectors of low
    rank. On sparse graphs it has odd-cycle inequalities over edges and chords. A Cholesky factor
    proves the bound. A local search takes about half of the time, from the start. Up to 600
    variables, and without a time limit for any number, `branch_and_bound` closes the remaining gap.
    Instances of a batch share the cores.

    Attributes:
        threads: number of instances at once; None for all cores.
        start: initial assignments `[..., n]`, which broadcast to the batch; None to start from the
            solution of `local_search`.

    References:
        Burer, Monteiro (2003), A nonlinear programming algorithm for solving semidefinite programs
        via low-rank factorization.
        Helmberg, Rendl (1998), Solving quadratic (0,1)-problems by semidefinite programs and
        cutting planes.
        Rump (2006), Verification of positive definiteness.
    """

    threads: int | None = None
    start: Any = field(default=None, compare=False)

    name = "semidefinite"
    capabilities = Capabilities(exact=True, max_size=4000, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        threads = self.threads or available_cores()
        start = given_states(self.start, problem)
        return one_by_one(problem, deadline, search_semidefinite, threads, start)
