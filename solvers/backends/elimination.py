"""Problems of low treewidth, variable by variable."""

from __future__ import annotations

from dataclasses import dataclass

from ..algorithms.elimination.max_sum import max_sum
from ..algorithms.elimination.plan import cached_plan
from ..algorithms.elimination.treewidth import treewidth_bound
from ..memory import free_memory
from ..options import check_threads
from ..problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

WIDEST = 30
"""Tables of 2^30 entries: 8 GiB a message, and several messages live at the same time."""

PROBED = 36
"""Greedy orders up to this width are worth a search for narrower ones."""

SMALL = 20
"""Up to this width tables take some tens of megabytes: nobody need ask what is free."""

SHARE = 0.6
"""Of the free memory, at most, for the tables of an instance."""


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
        reasons = super().why_not(problem)
        width = treewidth_bound(problem, PROBED)
        if width is not None and width <= SMALL:
            return reasons
        plan = None if width is None else problem.topology.recall(cached_plan)
        if plan is None or plan.width > WIDEST:
            return (*reasons, f"no elimination order of width {WIDEST} or less was found")
        needed, room = plan.table_bytes, SHARE * free_memory()
        if needed <= room:
            return reasons
        tables = f"the tables of a width of {plan.width} take {needed / 2**30:.1f} GiB"
        return (
            *reasons,
            f"{tables}, more than {SHARE:.0%} of the memory that is free, {room / 2**30:.1f} GiB",
        )

    @staticmethod
    def treewidth_bound(problem: Problem, give_up_above: int) -> int | None:
        """An upper bound on the treewidth of the problem's graph; None where none up to the limit is found."""
        return treewidth_bound(problem, give_up_above)

    @staticmethod
    def entries(problem: Problem) -> int:
        """How many entries the tables of the best plan have that is found: the work for an instance."""
        return problem.topology.recall(cached_plan).entries

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        plan = problem.topology.recall(cached_plan)
        z, _ = max_sum(plan, problem.unary, problem.pairwise, self.threads)
        return Maximiser(z, stats={"width": plan.width, "entries": plan.entries})
