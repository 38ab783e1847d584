"""Solve sparse and nearly planar problems of any signs by branch and cut over odd cycles."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithms.cycle_cuts.search import CutSearch
from ..algorithms.local_search.warm_start import without_model
from ..algorithms.presolve.model_building import time_to_build
from ..algorithms.presolve.one_by_one import one_by_one
from ..compiled.threads import available_cores
from ..limits.deadline import Deadline
from ..options import check_threads
from ..paused import PausedSolver
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities


@dataclass(frozen=True)
class CycleCuts(ArgmaxSolver):
    """Exact solver of sparse problems, quick on nearly planar ones without a field (grids).

    It runs branch and cut. The problem becomes a maximum cut, bounded by a linear program over
    odd-cycle inequalities, which shortest paths separate. Dynamic programming over a frontier of
    the graph, pruned by the multipliers, closes the remaining gap. If the frontier is too wide, the
    search branches. The multipliers in whole numbers give every bound. Instances of a batch share
    the cores. `stats` counts `nodes` of the search and `iterations` of the simplex.

    Attributes:
        threads: number of instances at once; None for all cores.
        start: initial assignments `[..., n]`, which broadcast to the batch; None to start from the
            solution of `local_search`.

    References:
        Barahona, Mahjoub (1986), On the cut polytope.
        Barahona, Grötschel, Jünger, Reinelt (1988), An application of combinatorial optimization to
        statistical physics and circuit layout design.
        Morin, Marsten (1976), Branch-and-bound strategies for dynamic programming.
    """

    threads: int | None = None
    start: Any = field(default=None, compare=False)

    name = "cycle_cuts"
    capabilities = Capabilities(
        exact=True, time_limit=True, packages=("highspy",), install="pip install highspy"
    )

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def paused(self) -> PausedSolver[CutSearch]:
        """Return this solver for one instance that is searched in several runs."""
        return PausedCycleCuts(start=self.start)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        counts: list[Mapping[str, int]] = []

        def solve(
            single: Problem, deadline: Deadline, start: np.ndarray | None
        ) -> tuple[np.ndarray, float]:
            search = _begun(single, deadline, start)
            if search is None:
                return without_model(single, start, deadline), math.inf
            search.run(deadline)
            counts.append(search.counts)
            return search.z, search.score_bound

        threads = self.threads or available_cores()
        start = given_states(self.start, problem)
        maximiser = one_by_one(problem, deadline, solve, threads, start)
        summed = {
            name: sum(count.get(name, 0) for count in counts) for name in ("nodes", "iterations")
        }
        return Maximiser(maximiser.z, maximiser.bound, {**maximiser.stats, **summed})


@dataclass(frozen=True)
class PausedCycleCuts(PausedSolver[CutSearch]):
    """`cycle_cuts` for one instance in several runs."""

    name = CycleCuts.name
    capabilities = CycleCuts.capabilities

    def _begun(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> CutSearch | None:
        return _begun(problem, deadline, start)

    def _resume(self, search: CutSearch, deadline: Deadline) -> None:
        search.run(deadline)

    def _without_search(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> Maximiser:
        z = without_model(problem, start, deadline)
        return Maximiser(z[None], np.full(1, math.inf))


def _begun(problem: Problem, deadline: Deadline, start: np.ndarray | None) -> CutSearch | None:
    """Return a search of an instance; None if too little time remains for a model."""
    if not time_to_build(problem.pairwise, deadline):
        return None
    return CutSearch(problem, deadline, start)
