"""How wide the best elimination order is that the heuristics find, remembered with each topology."""

from __future__ import annotations

from ...problem import Problem
from .order import width_of


def treewidth_bound(problem: Problem, give_up_above: int) -> int | None:
    """An upper bound on the treewidth of the problem's graph; None where none up to the limit is found."""
    return problem.topology.recall(width_of, give_up_above)
