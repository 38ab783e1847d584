"""Problems of low treewidth, variable by variable."""

from __future__ import annotations

from dataclasses import dataclass

from ..algorithms.elimination.best_states import best_states
from ..algorithms.elimination.max_sum import max_sum
from ..algorithms.elimination.plan import cached_plan
from ..algorithms.elimination.treewidth import WIDEST, treewidth_bound, why_not_eliminated
from ..arrays import States
from ..options import check_threads
from ..problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities


@dataclass(frozen=True)
class Elimination(ArgmaxSolver):
    """Exact for problems of low treewidth (trees, chains, narrow grids) of any size and any signs.

    Max-sum elimination in an order found by heuristics and remembered for each topology, so that a
    batch, and every later batch over the same edges, pays for it once. What limits it is memory: the tables
    of a width of 26 take about 3 GiB, and a second or two.

    Attributes:
        threads: most threads to use; None for all cores.

    References:
        Dechter (1999), Bucket elimination: a unifying framework for reasoning.
    """

    threads: int | None = None

    name = "elimination"
    capabilities = Capabilities(exact=True, max_treewidth=WIDEST)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """A width above 30 in the orders that the heuristics find, or tables that do not fit into the free memory."""
        reason = why_not_eliminated(problem, lambda plan: plan.table_bytes)
        return (*super().why_not(problem), *((reason,) if reason else ()))

    @staticmethod
    def treewidth_bound(problem: Problem, give_up_above: int) -> int | None:
        """An upper bound on the treewidth of the problem's graph; None where none up to the limit is found."""
        return treewidth_bound(problem.topology, give_up_above)

    @staticmethod
    def entries(problem: Problem) -> int:
        """How many entries the tables of the best plan have that is found: the work for an instance."""
        return problem.topology.recall(cached_plan).entries

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        plan = problem.topology.recall(cached_plan)
        z, _ = max_sum(plan, problem.unary, problem.pairwise, self.threads)
        return Maximiser(z, stats={"width": plan.width, "entries": plan.entries})

    def best_states(self, problem: Problem, count: int) -> States | None:
        """`[batch, count, n]`: those of highest score, the best first; None where tables take half a gigabyte."""
        return best_states(problem, count)
