"""Sparse problems of any signs, by a search with bounds from messages along the edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.dual_ascent.search import DualSearch
from ..algorithms.local_search.subgraph_moves import LARGEST_PART, SubgraphMoves
from ..algorithms.local_search.warm_start import first_state, local_optimum
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.one_by_one import one_by_one
from ..compiled.threads import available_cores
from ..deadline import Deadline
from ..errors import OptionError, shortened
from ..options import check_threads, check_whole
from ..problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

EASY = 1 << 17
"""Nodes times n + e after which moves of most variables look for a better assignment than the tabu search's."""

NANOSECONDS = 300
"""Of an edge, about, until a search has begun; where the time is shorter, what tabu search finds is the answer."""

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
            It goes on alone as well where `rest` cannot take what is left of an instance.
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

    def _solve(self, problem: Problem, deadline: Deadline, _: np.ndarray | None) -> tuple[np.ndarray, float]:
        if 1e-9 * NANOSECONDS * (problem.n + problem.e) > deadline.left:
            return local_optimum(problem, deadline), np.inf
        scores = FixedPoint.of(problem)
        search = DualSearch(scores, first_state(problem, None, deadline))
        search.run(deadline, EASY)
        if not search.finished and problem.n <= LARGEST_PART:
            moves = SubgraphMoves(problem, np.random.default_rng(0))
            search.offer(moves.improved(search.z, deadline.within(MOVES_SHARE * deadline.left)))
        rest = self._rest(problem)
        search.run(deadline, self.visits if rest else np.inf)
        bound = float(scores.bound(np.array([search.bound]))[0])
        if rest is None or search.finished or deadline.passed:
            return search.z, bound
        options = {"start": search.z} if "start" in rest.options() else {}
        later = rest.with_options(**options).solve_until(problem, deadline)
        better = later.score[0] > problem.score_flat(search.z[None])[0]
        return later.z[0] if better else search.z, min(bound, float(later.bound[0]))

    def _rest(self, problem: Problem) -> ArgmaxSolver | None:
        """`rest`, if it is there and takes what is left of an instance."""
        can = self.rest is not None and not self.rest.missing_packages() and not self.rest.why_not(problem)
        return self.rest if can else None
