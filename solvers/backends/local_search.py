"""Search by tabu search and recombination for good states, without a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.local_search.device_tabu import device_tabu
from ..algorithms.local_search.improvement import (
    MOST_EDGES,
    RECOMBINED_SHARE,
    better,
    has_subgraph_moves,
    is_recombined,
    recombined,
)
from ..algorithms.local_search.tabu import STARTS, TabuSearch
from ..algorithms.presolve.roof_duality import RoofDuality, roof_duality
from ..arrays import States
from ..limits.deadline import Deadline
from ..limits.progress import Known
from ..options import check_threads, check_whole
from ..problems.problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

TABU_SHARE = 0.1
"""Share of the time limit for tabu search before the recombination, on sparse problems."""


@dataclass(frozen=True)
class LocalSearch(ArgmaxSolver):
    """Multi-start one-flip tabu search with path relinking, on the host or the arrays' device.

    With a time limit, problems of 100 variables and more recombine local optima cluster by cluster
    (`recombination`). On sparse problems, moves of most variables at once find these optima
    (`subgraph_moves`). It never reports `optimal=True`. With a time limit it searches until the
    time is used up. Without one it makes `starts` runs per instance, and the answer only depends on
    the seed.

    Attributes:
        starts: tabu runs per instance.
        seed: seed of the random numbers.
        threads: maximum number of threads on the host; None for all cores.
    """

    starts: int = STARTS
    seed: int = 0
    threads: int | None = None

    name = "local_search"
    capabilities = Capabilities(exact=False, on_device=True, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)
        check_whole("starts", self.starts, 1, 2**31)
        check_whole("seed", self.seed, 0, 2**63 - 1)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        limited = None
        if deadline.limited:
            limited = deadline
        if not isinstance(problem.unary, np.ndarray):
            return Maximiser(
                device_tabu(problem, self.starts, self.seed, deadline=limited),
                problem.positive_part,
            )
        large = problem.e > MOST_EDGES
        if large:
            roof = RoofDuality.free(problem)
        else:
            roof = roof_duality(problem, deadline)
        bound = roof.bound
        if limited is not None:
            limited = limited.within_whole(
                problem, lambda news: news._replace(bound=bound[news.rows])
            )
        return Maximiser(self._states(problem, limited), bound)

    def _states(self, problem: Problem, deadline: Deadline | None) -> States:
        """Return the best states `[batch, n]` of a search on the host, within a deadline if any."""
        if deadline is None or not is_recombined(problem):
            return self._tabu(problem, deadline)
        left = deadline.left
        if has_subgraph_moves(problem):
            z = self._tabu(problem, deadline.within(TABU_SHARE * left))
            return recombined(problem, z, self.seed, deadline)
        z = np.zeros((problem.batch, problem.n), np.int8)
        z = recombined(problem, z, self.seed, deadline.within(RECOMBINED_SHARE * left))
        return better(problem, z, self._tabu(problem, deadline))

    def _tabu(self, problem: Problem, deadline: Deadline | None) -> States:
        arrays = (problem.unary, problem.pairwise, problem.topology.pairs)
        search = TabuSearch(*arrays, seed=self.seed, threads=self.threads)
        if deadline is None:
            return search.run(self.starts, Deadline.after(None))
        return search.run_until(
            deadline, self.starts, report=lambda z: deadline.tell(lambda: Known(z))
        )
