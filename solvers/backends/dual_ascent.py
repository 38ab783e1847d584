"""Sparse problems of any signs, by a search with bounds from messages along the edges."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ..algorithms.dual_ascent.search import DualSearch
from ..algorithms.local_search.subgraph_moves import LARGEST_PART, SubgraphMoves
from ..algorithms.local_search.warm_start import first_state
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.one_by_one import one_by_one
from ..compiled.threads import available_cores
from ..errors import OptionError, shortened
from ..options import check_threads, check_whole
from ..problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

EASY = 1 << 17
"""Nodes times n + e after which moves of most variables look for a better assignment than the tabu search's."""

MOVES_SHARE = 0.1
"""Of the time left, at most, for these moves."""


@dataclass(frozen=True)
class DualAscent(ArgmaxSolver):
    """Exact for sparse problems of any signs and any treewidth: quick up to some hundred variables of degree 4.

    Branch and bound; block coordinate ascent in the dual of the linear relaxation, by messages along the edges, bounds
    the nodes and fixes variables. Instances of a batch share the cores.

    Attributes:
        threads: instances at once; None for all cores.
        rest: an exact solver for the instances that are not proved after `visits`, which starts from what was found
            where it takes a `start`; None to go on alone, until a proof or until the search needs more than 1 GiB.
        visits: nodes times n + e until `rest` goes on; 2^24 take about half a second.

    References:
        Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
        Savchynskyy, Kappes, Swoboda, Schnoerr (2013), Global MAP-optimality by shrinking the combinatorial search
        area with convex relaxation.
    """

    threads: int | None = None
    rest: ArgmaxSolver | None = None
    visits: int = 1 << 24

    name = "dual_ascent"
    capabilities = Capabilities(exact=True, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)
        check_whole("visits", self.visits, 1, 2**62)
        if not isinstance(self.rest, ArgmaxSolver | None):
            raise OptionError(f"rest must be a solver object or None; got {shortened(self.rest)}")

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        return one_by_one(problem, time_limit, self._solve, self.threads or available_cores())

    def _solve(self, problem: Problem, left: float | None, _: np.ndarray | None) -> tuple[np.ndarray, float]:
        end = np.inf if left is None else time.monotonic() + left
        scores = FixedPoint.of(problem)
        search = DualSearch(scores, first_state(problem, None, left))
        search.run(end, EASY)
        if not search.finished and problem.n <= LARGEST_PART:
            now = time.monotonic()
            moves = SubgraphMoves(problem, np.random.default_rng(0))
            search.offer(moves.improved(search.z, now + MOVES_SHARE * (end - now)))
        search.run(end, self.visits if self.rest else np.inf)
        bound = float(scores.bound(np.array([search.bound]))[0])
        if self.rest is None or search.finished or time.monotonic() >= end:
            return search.z, bound
        options = {"start": search.z} if "start" in self.rest.options() else {}
        later = self.rest.with_options(**options).solve(
            problem, None if left is None else end - time.monotonic()
        )
        better = later.score[0] > problem.score_flat(search.z[None])[0]
        return later.z[0] if better else search.z, min(bound, float(later.bound[0]))
