"""How wide the best elimination order is that the heuristics find, and whether its tables fit into memory."""

from __future__ import annotations

from collections.abc import Callable

from ...limits.memory import memory_in_turn
from ...problem import Problem
from ...topology import Topology
from .order import OrderStoppedError, width_of
from .plan import Plan, cached_plan

WIDEST = 30
"""Tables of 2^30 entries: 8 GiB a message, and several messages live at the same time."""

PROBED = 36
"""Greedy orders up to this width are worth a search for narrower ones."""

SMALL = 1 << 20
"""Up to so many entries, a bound on which is n 2^width, nobody need ask what is free."""

SHARE = 0.6
"""Of the free memory, at most, for the tables of an instance."""


def treewidth_bound(topology: Topology, give_up_above: int) -> int | None:
    """Return an upper bound on the treewidth of a graph; None where none up to the limit is found, or not in time."""
    if topology.e > topology.n * give_up_above:  # a graph of treewidth k has fewer than k n edges
        return None
    try:
        return topology.recall(width_of, give_up_above)
    except OrderStoppedError:
        return None


def why_not_eliminated(problem: Problem, bytes_of: Callable[[Plan], int]) -> str | None:
    """Why elimination cannot take the problem: the width of its orders, or the memory; None if it can.

    Args:
        problem: its edges alone count.
        bytes_of: the memory that an instance takes with a plan.
    """
    width = treewidth_bound(problem.topology, PROBED)
    if width is not None and problem.n << width <= SMALL:
        return None
    plan = None if width is None else problem.topology.recall(cached_plan)
    if plan is None or plan.width > WIDEST:
        return f"no elimination order of width {WIDEST} or less was found"
    needed, room = bytes_of(plan), SHARE * memory_in_turn()
    if needed <= room:
        return None
    return (
        f"the tables of a width of {plan.width} take {needed / 2**30:.1f} GiB, more than {SHARE:.0%} of the memory "
        f"that is free, {room / 2**30:.1f} GiB"
    )
