"""What the root leaves open, closed by sweeps over the frontier: first for the heaviest cuts that its bound allows."""

from __future__ import annotations

from ...limits.deadline import Deadline
from ..elimination.frontier_order import frontier_order
from .branch import BranchAndCut
from .frontier import Steps, Weighed
from .sweep import NO_CUT, SMALL_BITS, sweep

SWEEPS = 8
"""In which what is asked for goes down from the bound to the best cut: for the first, few states may do. After one that
took a table the next asks for all that is better."""

ORDER_SECONDS = 2e-9
"""Of a greedy order, by vertices and their neighbours."""


def close_gap(search: BranchAndCut, deadline: Deadline) -> None:
    """Lowers the bound of a search, to its maximum if nothing stops the sweeps.

    Args:
        search: with its root cut.
        deadline: when to end.
    """
    cut, certificate = search.cut, search.certificate
    if deadline.left < ORDER_SECONDS * cut.vertices * (cut.vertices + 2 * len(cut.weights)):
        return
    hub = cut.n if cut.vertices > cut.n else -1
    order = frontier_order(search.graph.starts, search.graph.near, hub, deadline)
    steps = None if order is None else Steps.of(Weighed.of(cut, certificate), order)
    if steps is None:
        return
    narrow = steps.bits <= SMALL_BITS
    pace = max(
        cut.step, cut.rounded_down((search.bound - search.goal) // (1 if narrow else SWEEPS))
    )
    while not search.finished:
        needed = max(search.goal + 1, search.bound + cut.step - pace)
        found = sweep(steps, certificate.bound, needed * certificate.scale, deadline)
        if not found.complete:
            break
        if found.tabled:
            pace = search.bound - search.goal
        if found.best != NO_CUT:
            _take(search, steps, found.best, deadline)
            break
        search.lower(cut.rounded_down(needed - 1))


def _take(search: BranchAndCut, steps: Steps, best: int, deadline: Deadline) -> None:
    """The weight of a heaviest cut is the bound; the cut itself takes one more sweep."""
    certificate = search.certificate
    search.lower(best // certificate.scale)
    found = sweep(steps, certificate.bound, best, deadline, traced=True)
    if found.side is not None:
        search.offer(found.side)
