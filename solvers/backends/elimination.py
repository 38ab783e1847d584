"""Problems of low treewidth, variable by variable."""

from __future__ import annotations

from dataclasses import dataclass

from ..algorithms.elimination.max_sum import max_sum
from ..algorithms.elimination.plan import cached_plan
from ..algorithms.elimination.treewidth import treewidth_bound
from ..compiled.threads import check_threads
from ..problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

MAX_TREEWIDTH = 22
"""Tables of 2^22 entries: a few tenths of a second and some hundred megabytes an instance."""


@dataclass(frozen=True)
class Elimination(ArgmaxSolver):
    """Exact for problems of low treewidth (trees, chains, narrow grids) of any size and any signs.

    Max-sum elimination in an order found by heuristics and remembered for each topology, so that a
    batch, and every later batch over the same edges, pays for it once.

    Attributes:
        threads: most threads to use; None for all cores.

    References:
        Dechter (1999), Bucket elimination: a unifying framework for reasoning.
    """

    threads: int | None = None

    name = "elimination"
    capabilities = Capabilities(exact=True, max_treewidth=MAX_TREEWIDTH)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """A width above 22 in the orders that the heuristics find."""
        reasons = super().why_not(problem)
        if treewidth_bound(problem, MAX_TREEWIDTH) is not None:
            return reasons
        return (*reasons, f"no elimination order of width {MAX_TREEWIDTH} or less was found")

    @staticmethod
    def treewidth_bound(problem: Problem, give_up_above: int) -> int | None:
        """An upper bound on the treewidth of the problem's graph; None where none up to the limit is found."""
        return treewidth_bound(problem, give_up_above)

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        plan = cached_plan(problem.n, problem.edges)
        z, _ = max_sum(plan, problem.unary, problem.pairwise, self.threads)
        return Maximiser(z, stats={"width": plan.width, "entries": plan.entries})
