"""Check how wide the best elimination order is, and whether its tables fit into memory."""

from __future__ import annotations

from collections.abc import Callable

from ...arrays import Edges
from ...limits.memory import memory_in_turn
from ...problems.problem import Problem
from ...problems.topology import Topology
from .order import OrderStoppedError, width_of
from .plan import Plan, cached_plan

WIDEST = 30
"""Largest width: tables have 2^30 entries, 8 GiB per message, and several are in use at once."""

PROBED = 36
"""Largest width of greedy orders for which a search for narrower ones is worthwhile."""

SMALL = 1 << 20
"""Largest number of entries, bounded by n 2^width, for which free memory is not checked."""

SHARE = 0.6
"""Maximum share of the free memory for the tables of an instance."""


class Widths:
    """The widths of the orders that searches with several limits have met, of one graph.

    A search takes milliseconds, and selection asks with several limits.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.

    Attributes:
        searched: the limit of each search, and the width that it met, or None.
    """

    def __init__(self, n: int, edges: Edges):
        self._n = n
        self._edges = edges
        self.searched: tuple[tuple[int, int | None], ...] = ()

    def known_below(self, limit: int) -> int | None:
        """Return a width of at most `limit` that an earlier search met; None for none."""
        for _, width in self.searched:
            if width is not None and width <= limit:
                return width
        return None

    def below(self, give_up_above: int) -> int | None:
        """Return the least width that a search met; None where all exceed `give_up_above`.

        Raises:
            OrderStoppedError: the time to choose a solver ended first (`preparing`).
        """
        earlier = self.known_below(give_up_above)
        if earlier is not None:
            return earlier
        for limit, _ in self.searched:
            # A search that went further met no order of so small a width.
            if limit >= give_up_above:
                return None
        width = width_of(self._n, self._edges, give_up_above)
        self.searched = (*self.searched, (give_up_above, width))
        return width


def treewidth_bound(topology: Topology, give_up_above: int) -> int | None:
    """Return an upper bound on the treewidth of a graph; None above the limit or out of time."""
    if topology.e > topology.n * give_up_above:  # a graph of treewidth k has fewer than k n edges
        return None
    try:
        return topology.recall(Widths).below(give_up_above)
    except OrderStoppedError:
        return None


def is_known_narrow(topology: Topology, limit: int) -> bool:
    """Return whether an earlier search met an order of a width of at most `limit`."""
    widths = topology.recalled(Widths)
    return widths is not None and widths.known_below(limit) is not None


def why_not_eliminated(problem: Problem, bytes_of: Callable[[Plan], int]) -> str | None:
    """Return why elimination cannot take the problem: width or memory; None if it can.

    Args:
        problem: the problem, of which only the edges count.
        bytes_of: returns the memory that an instance needs with a plan.
    """
    width = treewidth_bound(problem.topology, PROBED)
    # Small tables fit into any memory, so the plan need not be made to know.
    if width is not None and problem.n << width <= SMALL:
        return None
    plan = None
    if width is not None:
        # The topology keeps the plan: the solver that follows needs the same one.
        plan = problem.topology.recall(cached_plan)
    if plan is None or plan.width > WIDEST:
        return f"no elimination order of width {WIDEST} or less was found"
    return why_no_room(plan.width, bytes_of(plan), memory_in_turn())


def why_no_room(width: int, needed: int, free: float) -> str | None:
    """Return that the tables of a width need too much memory, or None if they have room."""
    room = SHARE * free
    if needed <= room:
        return None
    return (
        f"the tables of a width of {width} take {needed / 2**30:.3g} GiB, more than "
        f"{SHARE:.0%} of the free memory, {room / 2**30:.1f} GiB"
    )
