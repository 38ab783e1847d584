"""Solve sparse problems of any signs by a search bounded by messages along the edges."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithms.dual_ascent.search import DualSearch
from ..algorithms.local_search.near_states import states_around
from ..algorithms.local_search.subgraph_moves import LARGEST_PART, SubgraphMoves
from ..algorithms.local_search.warm_start import first_state, without_model
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.presolve.ranked import ranked
from ..arrays import States
from ..compiled.threads import available_cores
from ..limits.deadline import Deadline
from ..options import check_threads, check_whole
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser, Ranking
from ..solver import ArgmaxSolver, Capabilities

EASY = 1 << 17
"""Work of the first search, as nodes times n + e.

After it, moves of most variables at once search for a better state than that of tabu search."""

NANOSECONDS = 300
"""Approximate time per edge until a search has begun.

If the remaining time is shorter, the answer is that of tabu search."""

MOVES_SHARE = 0.1
"""Maximum share of the remaining time for the moves of most variables."""


@dataclass(frozen=True)
class DualAscent(ArgmaxSolver):
    """Exact solver of sparse problems of any treewidth, quick up to some hundred variables.

    It runs branch and bound. Block coordinate ascent in the dual of the linear relaxation, by
    messages along the edges, bounds the nodes and fixes variables. It is quick if the mean degree
    is about 4. Instances of a batch share the cores.

    Attributes:
        threads: number of instances at once; None for all cores.
        visits: limit on nodes times n + e, at which the search for a part of an instance ends; 2^24
            take about a second. None to continue until an optimality certificate, or until the
            search needs more than 1 GiB.
        start: initial assignments `[..., n]`, which broadcast to the batch; None to start from the
            solution of `local_search`.

    References:
        Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
        Savchynskyy, Kappes, Swoboda, Schnoerr (2013), Global MAP-optimality by shrinking the
        combinatorial search area with convex relaxation.
    """

    threads: int | None = None
    visits: int | None = None
    start: Any = field(default=None, compare=False)

    name = "dual_ascent"
    capabilities = Capabilities(exact=True, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)
        if self.visits is not None:
            check_whole("visits", self.visits, 1, 2**62)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        threads = self.threads or available_cores()
        return one_by_one(
            problem, deadline, self._solve, threads, given_states(self.start, problem)
        )

    def best_states(self, problem: Problem, count: int, deadline: Deadline) -> Ranking:
        """Return the `count` states of highest score, from one search that keeps `count` states."""
        return ranked(problem, count, deadline, self._rank, self.threads or available_cores())

    def _solve(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        states, bound = self._rank(problem, deadline, 1, start)
        return states[0], bound

    def _rank(
        self, problem: Problem, deadline: Deadline, count: int, start: np.ndarray | None = None
    ) -> tuple[States, float]:
        """Return states `[count, n]`, the best first, and a bound on all other states.

        With `count` 1 it bounds all states.
        """
        if 1e-9 * NANOSECONDS * (problem.n + problem.e) > deadline.left:
            near = states_around(problem, without_model(problem, start, deadline), count)
            return near[:count], float(problem.positive_part[0])
        scores = FixedPoint.of(problem)
        visits = self.visits or np.inf
        near = states_around(problem, first_state(problem, start, deadline), count)
        search = DualSearch(scores, near, count)
        search.run(deadline, min(EASY, visits))
        if visits > EASY and not search.finished:
            if problem.n <= LARGEST_PART:
                moves = SubgraphMoves(problem, np.random.default_rng(0))
                search.offer(moves.improved(search.z, deadline.within(MOVES_SHARE * deadline.left)))
            search.run(deadline, visits - EASY)
        return search.states, float(scores.bound(np.array([search.bound]))[0])
