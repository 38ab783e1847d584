"""Exact maximisers of pairwise problems of small treewidth, by max-sum variable elimination.

One variable after the other is maximised out: what is left is a problem over the others, with a table over
the neighbours of the one that went. Each table entry keeps a bit, whether the variable was 1, from which a
maximiser is read off backwards. All sums are in float64; the score of a state is a sum of n + e coefficients
in some order, so the answer is within eps * (n + e) * sum |coefficients| of the maximum.

References:
    Dechter, 1999. Bucket elimination: a unifying framework for reasoning. Artificial Intelligence 113.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...arrays import Pairwise, Scores, States, Unary
from ...compiled import jit
from ...compiled.plain import plain
from ...compiled.threads import over_slices, threads_in_memory
from ...compiled.vectors import LANES
from ...limits.deadline import WATCHED, Deadline
from ...limits.memory import turn_of
from .max_sum_lanes import max_sum_lanes
from .max_sum_tables import max_sum_tables
from .order import NEVER
from .plan import Plan

# Fitted to grids, trees and ladders.
LANE_ENTRY_NANOSECONDS, LANE_STEP_NANOSECONDS = 0.45, 7.0
TABLE_ENTRY_NANOSECONDS, TABLE_STEP_NANOSECONDS = 0.3, 140.0
HUGE = 2.0**900  # sums of larger coefficients may overflow


def max_sum(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> tuple[States, Scores]:
    """The maximisers `[batch, n]` and their scores `[batch]`, up to rounding.

    Where the deadline passes before, or others have the memory until then, scores are not a number, and states may be
    anything.

    Args:
        plan: of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        threads: most threads to use; None for all cores.
        deadline: when to end; None for when all is done.
    """
    unary, pairwise = (plain(array.astype(np.float64, copy=False)) for array in (unary, pairwise))
    batch = len(unary)
    z, maxima = np.empty((batch, plan.n), np.int8), np.empty(batch)
    scales = _scales(unary, pairwise)
    lanes, tables = _lane_nanoseconds(plan, batch), _table_nanoseconds(plan)
    if lanes < tables:
        kernel = partial(max_sum_lanes, plan.schedule, plan.lane_arena, plan.entries, plan.width)
        bytes_a_thread, together = LANES * (8 * plan.lane_arena + plan.entries), LANES
    else:
        kernel = partial(max_sum_tables, plan.schedule, plan.table_arena, plan.words, plan.most_reads)
        bytes_a_thread, together = plan.table_bytes, 1
    workers = threads_in_memory(threads, bytes_a_thread)
    arrays, work = (scales, unary, pairwise, z, maxima), min(lanes, tables)
    share = partial(over_slices, nanoseconds=work, threads=workers, together=together)
    if work * batch < 1e9 * WATCHED or deadline is None:
        share(partial(kernel, NEVER), *arrays)
    else:
        _until(deadline, lambda stop: share(partial(kernel, stop), *arrays), bytes_a_thread)
    with np.errstate(over="ignore"):
        return z, maxima / scales


def _until(deadline: Deadline, fill: Callable[[np.ndarray], object], table_bytes: int) -> None:
    with turn_of(table_bytes, deadline.left) as granted, deadline.flag() as stop:
        try:
            if not granted:
                stop.fill(1)
            fill(stop)
        finally:  # after a Ctrl-C as well, which leaves the threads to themselves
            stop.fill(1)


@jit.strict
def _scales(unary, pairwise):
    """`[batch]`: the factor by which the coefficients of every instance are multiplied, a power of two."""
    scales = np.ones(len(unary))
    for b in range(len(unary)):
        peak = 0.0
        for i in range(unary.shape[1]):
            peak = max(peak, abs(unary[b, i]))
        for k in range(pairwise.shape[1]):
            peak = max(peak, abs(pairwise[b, k]))
        if peak > HUGE:
            scales[b] = 2.0**-64
    return scales


def _lane_nanoseconds(plan: Plan, batch: int) -> float:
    """Estimated work of an instance with LANES of them side by side."""
    if not plan.has_offsets:
        return np.inf
    used = batch / (LANES * -(-batch // LANES)) if batch else 1.0
    return (LANE_ENTRY_NANOSECONDS * plan.entries + LANE_STEP_NANOSECONDS * plan.n) / used


def _table_nanoseconds(plan: Plan) -> float:
    """Estimated work of an instance by itself."""
    return TABLE_ENTRY_NANOSECONDS * plan.entries + TABLE_STEP_NANOSECONDS * plan.n
