"""Problems of low treewidth, variable by variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.elimination.best_states import best_states
from ..algorithms.elimination.counted import counted_max_sum, forest_of, tables_of
from ..algorithms.elimination.max_sum import max_sum
from ..algorithms.elimination.plan import cached_plan
from ..algorithms.elimination.treewidth import SHARE, WIDEST, treewidth_bound, why_not_eliminated
from ..algorithms.local_search.tabu import tabu_search
from ..compiled.threads import available_cores
from ..constraint_rows import Rows
from ..errors import InfeasibleError
from ..limits.deadline import Deadline
from ..limits.memory import free_memory
from ..options import check_threads
from ..problem import Problem
from ..solution import Maximiser, Ranking
from ..solver import ArgmaxSolver, Capabilities

LONG_ENTRIES = 1 << 26
"""Entries that take some hundredths of a second, for all instances."""

AFTER_SECONDS = 0.05
"""For local search, where a time limit has ended what proves."""


@dataclass(frozen=True)
class Elimination(ArgmaxSolver):
    """Exact for problems of low treewidth (trees, chains, narrow grids) of any size and any signs.

    Max-sum elimination in an order found by heuristics and remembered for each topology, so that a
    batch, and every later batch over the same edges, pays for it once. What limits it is memory: a
    bit for each entry of the tables, and 8 bytes for those that live at the same time, so that
    those of a width of 26 take 3 to 11 GiB, and seconds to two minutes; tables of gigabytes are
    filled one after the other. Where a time limit ends it before, the state is that of local
    search, and there is no bound. On trees and chains it takes constraints on how many variables of
    a group are 1, by the count as one more dimension of the tables.

    Attributes:
        threads: most threads to use; None for all cores.

    References:
        Dechter (1999), Bucket elimination: a unifying framework for reasoning.
    """

    threads: int | None = None

    name = "elimination"
    capabilities = Capabilities(
        exact=True, time_limit=True, max_treewidth=WIDEST, constraints=2**54
    )

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
        deadline = Deadline.after(time_limit) if self._takes_long(problem) else None
        z, maxima = max_sum(plan, problem.unary, problem.pairwise, self.threads, deadline)
        stats = {"width": plan.width, "entries": plan.entries}
        if deadline is None or not (stopped := np.isnan(maxima)).any():
            return Maximiser(z, stats=stats)
        arrays, soon = (
            (problem.unary, problem.pairwise, problem.topology.pairs),
            Deadline.after(AFTER_SECONDS),
        )
        found = tabu_search(*arrays, deadline=soon, threads=self.threads or available_cores())
        z = np.where(stopped[:, None], found, z)
        return Maximiser(z, np.where(stopped, np.inf, problem.score_flat(z)), stats)

    def _takes_long(self, work: Problem) -> bool:
        return work.batch * work.topology.recall(cached_plan).entries > LONG_ENTRIES

    def why_not_within(self, problem: Problem, constraints: Rows) -> str | None:
        """A circle in the graph, constraints that are no count of one group, or tables that do not fit into memory."""
        if reason := super().why_not_within(problem, constraints):
            return reason
        count, forest = constraints.as_count(), problem.topology.recall(forest_of)
        if count is None:
            return "it takes how many variables of one group are 1, and fixed ones, and no other constraints"
        if forest is None:
            return "within constraints it takes trees, and the graph has a circle"
        needed, room = (
            tables_of(forest, count.group, max(count.high, 0)).bytes,
            SHARE * free_memory(),
        )
        if needed > room:
            return f"the tables with counts take {needed / 2**30:.1f} GiB, and {room / 2**30:.1f} GiB may be used"
        return None

    def _argmax_within(
        self, problem: Problem, constraints: Rows, time_limit: float | None
    ) -> Maximiser:
        count, forest = constraints.as_count(), problem.topology.recall(forest_of)
        z = None
        if count is not None and forest is not None:  # as they are: others were refused
            z = counted_max_sum(
                problem, forest, count.group, (count.low, count.high), count.values, self.threads
            )
        if z is None or count is None:
            raise InfeasibleError(constraints.names)
        return Maximiser(z, stats={"width": 1, "counts": count.high + 1})

    def best_states(
        self, problem: Problem, count: int, time_limit: float | None = None
    ) -> Ranking | None:
        """Those of highest score; None where tables take half a gigabyte."""
        found = best_states(problem, count)
        return None if found is None else Ranking(found)
