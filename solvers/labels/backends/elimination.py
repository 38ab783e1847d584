"""Solve problems of low treewidth, variable by variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...algorithms.elimination.treewidth import treewidth_bound
from ...arrays import States, namespace_of
from ...limits.deadline import Deadline
from ...solution import Maximiser, Ranking
from ...solver import Capabilities
from ..algorithms.best_labels import best_labels
from ..algorithms.buckets import WIDEST, Buckets, buckets_of, in_parts, why_not_eliminated
from ..algorithms.max_sum import max_sum
from ..algorithms.potts_max_sum import potts_max_sum
from ..algorithms.tree_max_sum import tree_max_sum
from ..problem import LabelProblem
from ..solver import LabelSolver


@dataclass(frozen=True)
class Elimination(LabelSolver):
    """Exact solver of problems of low treewidth (chains, trees, narrow grids) of any size.

    It runs max-sum elimination in an order that heuristics find, which is remembered for each
    topology. Memory is the limit: a table has an entry for every assignment of a variable and its
    separator.

    References:
        Dechter (1999), Bucket elimination: a unifying framework for reasoning.
    """

    name = "elimination"
    capabilities = Capabilities(exact=True, max_treewidth=WIDEST, on_device=True)

    def why_not(self, problem: LabelProblem) -> tuple[str, ...]:
        """Return a reason if the tables do not fit into the free memory."""
        reasons = super().why_not(problem)
        if self.is_linear(problem):
            return reasons
        reason = why_not_eliminated(problem, _bytes_of)
        if reason is None:
            return reasons
        return (*reasons, reason)

    @staticmethod
    def is_linear(problem: LabelProblem) -> bool:
        """Return whether messages take time linear in the number of values.

        They do on a forest whose pairs score only equal values.
        """
        if not problem.is_potts or not isinstance(problem.unary, np.ndarray):
            return False
        return treewidth_bound(problem.topology, 1) == 1

    @staticmethod
    def entries(problem: LabelProblem) -> int:
        """Return the number of entries of all tables, which is the work for an instance."""
        return buckets_of(problem).entries

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        buckets = buckets_of(problem)
        return Maximiser(
            _states(problem, buckets), stats={"width": buckets.width, "entries": buckets.entries}
        )

    def best_states(self, problem: LabelProblem, count: int, deadline: Deadline) -> Ranking | None:
        """Return the `count` assignments of highest score on a forest; None on other graphs.

        None also if an instance has fewer assignments, if the lists would take long, or if time
        runs out.
        """
        buckets = buckets_of(problem)
        if buckets.width > 1 or problem.edge_tables is not None:
            return None
        states = best_labels(problem, buckets, count, deadline)
        if states is None:
            return None
        return Ranking(states)


def _states(problem: LabelProblem, buckets: Buckets) -> States:
    if buckets.width <= 1 and isinstance(problem.unary, np.ndarray):
        if problem.is_potts:
            return potts_max_sum(problem, buckets)
        if problem.edge_tables is None:
            return tree_max_sum(problem, buckets)
    states = [max_sum(batch, buckets) for batch in in_parts(problem, buckets)]
    if len(states) == 1:
        return states[0]
    return namespace_of(problem.unary).concat(states, axis=0)


def _bytes_of(buckets: Buckets) -> int:
    """Return the bytes of the largest sum, of a message, and of the choices."""
    return 24 * buckets.largest + 2 * buckets.entries
