"""Solve problems whose pairs exclude each other, such as independent sets, by cliques."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..algorithms.clique_cover.branch_and_cut import CliqueBranchAndCut
from ..algorithms.clique_cover.search import CliqueSearch
from ..algorithms.local_search.warm_start import first_state, without_model
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.presolve.penalties import exclusions
from ..compiled.threads import available_cores
from ..limits.deadline import Deadline
from ..options import check_threads, check_whole
from ..paused import PausedSolver
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

NANOSECONDS = 300
"""Approximate time per edge until a search has begun.

Where the remaining time is shorter, tabu search alone gives the answer."""


@dataclass(frozen=True)
class CliqueCover(ArgmaxSolver):
    """Exact; quick where most pairs exclude each other, as penalties make them do.

    Examples are independent sets, maximum cliques, vertex covers and set packings. Branch and
    bound: weighted cliques of excluded pairs bound the nodes, and unit propagation among the
    cliques tightens the bound. It is quick up to some hundred variables. Pairs that exclude nothing
    are allowed, but the bound uses them only if their scores are positive. Instances of a batch
    share the cores.

    Attributes:
        threads: instances at once; None for all cores.
        nodes: limit on the search nodes for a part of an instance; None to continue until an
            optimality certificate. A node takes 10 to 100 us if there are 200 variables.
        start: assignments `[..., n]` to start from, which broadcast to the batch; None to start
            from the solution of `local_search`.

    References:
        Balas, Yu (1986), Finding a maximum clique in an arbitrary graph.
        Held, Cook, Sewell (2012), Maximum-weight stable sets and safe lower bounds for graph
        coloring.
        Li, Quan (2010), An efficient branch-and-bound algorithm based on MaxSAT for the maximum
        clique problem.
    """

    threads: int | None = None
    nodes: int | None = None
    start: Any = field(default=None, compare=False)

    name = "clique_cover"
    capabilities = Capabilities(exact=True, time_limit=True, max_size=4000)

    def __post_init__(self) -> None:
        check_threads(self.threads)
        if self.nodes is not None:
            check_whole("nodes", self.nodes, 1, 2**62)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        threads = self.threads or available_cores()
        return one_by_one(
            problem, deadline, self._solve, threads, given_states(self.start, problem)
        )

    def paused(self) -> PausedCliqueCover:
        """Return this solver for one instance that is searched in several runs."""
        return PausedCliqueCover(start=self.start, nodes=self.nodes)

    def by_programs(self) -> PausedSolver[CliqueBranchAndCut]:
        """Return a search of one instance in several runs, bounded by linear programs.

        It bounds instances that the other search does not end. It needs HiGHS.
        """
        return PausedCliquePrograms(start=self.start)

    def _solve(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        search = _begun(problem, deadline, start)
        if search is None:
            return _without_search(problem, deadline, start)
        search.run(deadline, self.nodes or np.inf)
        return search.z, search.score_bound


@dataclass(frozen=True)
class PausedCliqueCover(PausedSolver[CliqueSearch]):
    """`clique_cover` for one instance in several runs.

    Attributes:
        nodes: limit on the search nodes of a run; None to continue until an optimality certificate.
    """

    nodes: int | None = None

    name = CliqueCover.name
    capabilities = CliqueCover.capabilities

    def _begun(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> CliqueSearch | None:
        return _begun(problem, deadline, start)

    def _resume(self, search: CliqueSearch, deadline: Deadline) -> None:
        search.run(deadline, self.nodes or np.inf)

    def _without_search(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> Maximiser:
        z, bound = _without_search(problem, deadline, start)
        return Maximiser(z[None], np.array([bound]))


@dataclass(frozen=True)
class PausedCliquePrograms(PausedSolver[CliqueBranchAndCut]):
    """Search of one instance in several runs, bounded by linear programs over cliques."""

    name = CliqueCover.name
    capabilities = replace(
        CliqueCover.capabilities, packages=("highspy",), install="pip install highspy"
    )

    def _begun(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> CliqueBranchAndCut | None:
        if 1e-9 * NANOSECONDS * (problem.n + problem.e) > deadline.left:
            return None
        scores = FixedPoint.of(problem)
        state = first_state(problem, start, deadline)
        excluded = exclusions(scores)
        return CliqueBranchAndCut(scores, excluded.pairs, state, excluded.value)

    def _resume(self, search: CliqueBranchAndCut, deadline: Deadline) -> None:
        search.run(deadline)

    def _without_search(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> Maximiser:
        z, bound = _without_search(problem, deadline, start)
        return Maximiser(z[None], np.array([bound]))


def _begun(problem: Problem, deadline: Deadline, start: np.ndarray | None) -> CliqueSearch | None:
    """Return a search of an instance, whose root is bounded; None if too little time remains."""
    if 1e-9 * NANOSECONDS * (problem.n + problem.e) > deadline.left:
        return None
    scores = FixedPoint.of(problem)
    state = first_state(problem, start, deadline)
    excluded = exclusions(scores)
    return CliqueSearch(scores, excluded.pairs, state, deadline, excluded.value)


def _without_search(
    problem: Problem, deadline: Deadline, start: np.ndarray | None
) -> tuple[np.ndarray, float]:
    """Return the state of tabu search and a bound that needs no search."""
    return without_model(problem, start, deadline), float(problem.positive_part[0])
