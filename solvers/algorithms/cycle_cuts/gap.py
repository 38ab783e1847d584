"""Close the gap of the root by sweeps over the frontier, the heaviest possible cuts first."""

from __future__ import annotations

from ...limits.deadline import Deadline
from ..elimination.frontier_order import frontier_order
from .branch import BranchAndCut
from .frontier import Steps, Weighed
from .sweep import NO_CUT, SMALL_BITS, sweep

SWEEPS = 8
"""Sweeps in which the required weight falls from the bound to the best cut.

For the first ones, few states may suffice. After a sweep that needed a table, the next one asks for
all better cuts."""

ORDER_SECONDS = 2e-9
"""Time of a greedy order, per vertex and neighbour."""


def close_gap(search: BranchAndCut, deadline: Deadline) -> None:
    """Lower the bound of a search, to the maximum if nothing stops the sweeps.

    Args:
        search: a search whose root is cut.
        deadline: time at which the sweeps end.
    """
    cut = search.cut
    certificate = search.certificate
    # An order that takes most of the time leaves none for the sweeps.
    if deadline.left < ORDER_SECONDS * cut.vertices * (cut.vertices + 2 * len(cut.weights)):
        return
    # The hub of the unary scores is next to all vertices: no order takes it off the frontier early.
    hub = -1
    if cut.vertices > cut.n:
        hub = cut.n
    order = frontier_order(search.graph.starts, search.graph.near, hub, deadline)
    if order is None:
        return
    steps = Steps.of(Weighed.of(cut, certificate), order)
    if steps is None:
        return
    # All states of a narrow frontier fit, so one sweep can go to the goal directly.
    narrow = steps.bits <= SMALL_BITS
    sweeps = SWEEPS
    if narrow:
        sweeps = 1
    pace = max(cut.step, cut.rounded_down((search.bound - search.goal) // sweeps))
    # Invariant: no cut weighs more than the bound, which falls by `pace` per sweep.
    while not search.finished:
        # A sweep finds a cut of weight `needed`, or proves that there is none.
        needed = max(search.goal + 1, search.bound + cut.step - pace)
        swept = sweep(steps, certificate.bound, needed * certificate.scale, deadline)
        if not swept.complete:
            break
        # The cost of a table does not grow with the gap, so the next sweep takes all of it.
        if swept.tabled:
            pace = search.bound - search.goal
        if swept.best != NO_CUT:
            _take(search, steps, swept.best, deadline)
            break
        # No cut weighs `needed` or more.
        search.lower(cut.rounded_down(needed - 1))


def _take(search: BranchAndCut, steps: Steps, best: int, deadline: Deadline) -> None:
    """Set the bound to the weight of a heaviest cut, and find that cut by one more sweep."""
    certificate = search.certificate
    search.lower(best // certificate.scale)
    swept = sweep(steps, certificate.bound, best, deadline, traced=True)
    if swept.side is not None:
        search.offer(swept.side)
