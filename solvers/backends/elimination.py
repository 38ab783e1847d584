"""Solve problems of low treewidth by eliminating one variable after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..algorithms.elimination.best_states import best_states
from ..algorithms.elimination.counted import counted_max_sum, forest_of, tables_of
from ..algorithms.elimination.max_sum import max_sum
from ..algorithms.elimination.one_instance import maximise_at_once
from ..algorithms.elimination.plan import Plan, cached_plan
from ..algorithms.elimination.treewidth import (
    SHARE,
    WIDEST,
    is_known_narrow,
    treewidth_bound,
    why_not_eliminated,
)
from ..algorithms.local_search.warm_start import late_states
from ..algorithms.presolve.ranked import first_ranked
from ..constraint_rows import Rows
from ..errors import InfeasibleError
from ..limits.deadline import Deadline
from ..limits.memory import free_memory
from ..options import check_threads
from ..problems.problem import Problem
from ..problems.topology import Topology
from ..solution import AtOnce, Maximiser, Ranking
from ..solver import ArgmaxSolver, Capabilities

LONG_ENTRIES = 1 << 26
"""Table entries of a batch that take some hundredths of a second."""


@dataclass(frozen=True)
class Elimination(ArgmaxSolver):
    """Exact solver of problems of low treewidth (trees, chains, narrow grids) of any size.

    It runs max-sum elimination in an order from heuristics. The order is kept for a topology, so
    that a batch, and every later batch over the same edges, computes it once. Memory is the limit:
    each entry of the tables takes one bit, and each entry of the tables in use at the same time
    takes 8 bytes. A width of 26 takes 3 to 11 GiB, and seconds to two minutes. Tables of gigabytes
    are filled one after the other. If a time limit ends the elimination, local search gives the
    state, and there is no bound. On trees and chains it also takes constraints on the number of
    ones in a group: the count becomes one more dimension of the tables. If a time limit
    ends such a call, a price on each variable of the group gives a feasible state and a bound.

    Attributes:
        threads: maximum number of threads; None for all cores.

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
        """Return why elimination cannot take a problem: a width above 30, or too large tables.

        The width is the least in the orders of the heuristics.
        """
        reasons = super().why_not(problem)
        reason = why_not_eliminated(problem, lambda plan: plan.table_bytes)
        if reason is None:
            return reasons
        return (*reasons, reason)

    @staticmethod
    def treewidth_bound(topology: Topology, give_up_above: int) -> int | None:
        """Return an upper bound on the treewidth of a graph; None above `give_up_above`."""
        return treewidth_bound(topology, give_up_above)

    @staticmethod
    def is_known_narrow(topology: Topology, limit: int) -> bool:
        """Return whether an order of a width of at most `limit` is known without a search."""
        return is_known_narrow(topology, limit)

    @staticmethod
    def entries(problem: Problem) -> int:
        """Return the number of table entries of the best plan: the work for one instance."""
        return problem.topology.recall(cached_plan).entries

    def maximise_at_once(
        self, topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
    ) -> AtOnce | None:
        """Solve one instance of a graph with small tables that was eliminated before."""
        return maximise_at_once(topology, unary, pairwise, z)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        plan = problem.topology.recall(cached_plan)
        limit = None
        if _is_long(problem, plan):
            limit = deadline
        z, maxima = max_sum(plan, problem.unary, problem.pairwise, self.threads, limit)
        stats = {"width": plan.width, "entries": plan.entries}
        if limit is None or not (stopped := np.isnan(maxima)).any():
            return Maximiser(z, stats=stats)
        z = np.where(stopped[:, None], late_states(problem, self.threads), z)
        return Maximiser(z, np.where(stopped, np.inf, problem.score_flat(z)), stats)

    def _takes_long(self, work: Problem) -> bool:
        return _is_long(work, work.topology.recall(cached_plan))

    def why_not_within(self, problem: Problem, constraints: Rows) -> str | None:
        """Return why elimination cannot take constraints: a cycle, no single count, or memory."""
        if reason := super().why_not_within(problem, constraints):
            return reason
        count = constraints.as_count()
        forest = problem.topology.recall(forest_of)
        if count is None:
            return (
                "it takes bounds on how many variables of one group are 1, and fixed variables, "
                "and no other constraints"
            )
        if forest is None:
            return "with constraints it takes trees and forests, and the graph has a cycle"
        needed = tables_of(forest, count.group, max(count.high, 0)).bytes
        room = SHARE * free_memory()
        if needed > room:
            return (
                f"the tables with counts take {needed / 2**30:.1f} GiB, and "
                f"{room / 2**30:.1f} GiB may be used"
            )
        return None

    def _argmax_within(self, problem: Problem, constraints: Rows, deadline: Deadline) -> Maximiser:
        count = constraints.as_count()
        forest = problem.topology.recall(forest_of)
        maximiser = None
        if count is not None and forest is not None:  # always, by `why_not_within`
            counts = (count.low, count.high)
            maximiser = counted_max_sum(
                problem, forest, count.group, counts, count.values, self.threads, deadline
            )
        if maximiser is None or count is None:
            raise InfeasibleError(constraints.names)
        return replace(maximiser, stats={"width": 1, "counts": count.high + 1})

    def best_states(self, problem: Problem, count: int, deadline: Deadline) -> Ranking | None:
        """Return the `count` states of highest score; None if tables take half a gigabyte."""
        ranked = best_states(problem, count, deadline)
        if ranked is None:
            return None
        return first_ranked(problem, *ranked)


def _is_long(problem: Problem, plan: Plan) -> bool:
    """Return whether a signal, or the deadline, may come before the answer."""
    return problem.batch * plan.entries > LONG_ENTRIES
