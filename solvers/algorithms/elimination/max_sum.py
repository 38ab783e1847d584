"""Exact maximisers of pairwise problems of small treewidth, by max-sum variable elimination.

One variable after the other is maximised out: what is left is a problem over the others, with a
table over the neighbours of the one that went. Each table entry keeps a bit, whether the variable
was 1, from which a maximiser is read off backwards. All sums are in float64; the score of a state
is a sum of n + e coefficients in some order, so the answer is within eps * (n + e) * sum
|coefficients| of the maximum.

References:
    Dechter, 1999. Bucket elimination: a unifying framework for reasoning. Artificial Intelligence
    113.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ...arrays import Pairwise, Scores, States, Unary
from ...compiled._kernels import elimination as kernels
from ...compiled.threads import NANOSECONDS_A_THREAD, over_slices, threads_in_memory
from ...limits.deadline import WATCHED, Deadline
from ...limits.memory import turn_of
from .order import NEVER
from .plan import Plan

LANES = 16
"""Instances, or entries of a table, side by side."""

# Fitted to grids, trees and ladders.
LANE_ENTRY_NANOSECONDS, LANE_STEP_NANOSECONDS = 0.22, 0.9
TABLE_ENTRY_NANOSECONDS, TABLE_STEP_NANOSECONDS = 0.15, 17.0
FAR_ENTRY_NANOSECONDS = 0.3  # where the messages that live at the same time leave the cache
NEAR_ENTRIES = 1 << 18


def max_sum(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> tuple[States, Scores]:
    """The maximisers `[batch, n]` and their scores `[batch]`, up to rounding.

    Where the deadline passes before, or others have the memory until then, scores are not a number,
    and states may be anything.

    Args:
        plan: of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        threads: most threads to use; None for all cores.
        deadline: when to end; None for when all is done.
    """
    unary, pairwise = _readable(unary), _readable(pairwise)
    batch = len(unary)
    z, maxima = np.empty((batch, plan.n), np.int8), np.empty(batch)
    lanes, tables = _lane_nanoseconds(plan, batch), _table_nanoseconds(plan)
    if lanes < tables:
        kernel, work = kernels.max_sum_lanes, lanes
        bytes_a_thread, together = LANES * (8 * plan.lane_arena + plan.entries), LANES
    else:
        kernel, work = kernels.max_sum_tables, tables
        bytes_a_thread, together = plan.table_bytes, 1
    if work * batch < NANOSECONDS_A_THREAD:
        kernel(plan.schedule, NEVER, unary, pairwise, z, maxima)
        return z, maxima
    arrays, workers = (unary, pairwise, z, maxima), threads_in_memory(threads, bytes_a_thread)
    share = partial(over_slices, nanoseconds=work, threads=workers, together=together)
    if work * batch < 1e9 * WATCHED or deadline is None:
        share(partial(kernel, plan.schedule, NEVER), *arrays)
    else:
        _until(
            deadline,
            lambda stop: share(partial(kernel, plan.schedule, stop), *arrays),
            bytes_a_thread,
        )
    return z, maxima


def _readable(scores: np.ndarray) -> np.ndarray:
    """`scores` as the kernels take them, in float32 or float64: themselves where they are."""
    kept = (
        scores.dtype in (np.float32, np.float64)
        and scores.flags.c_contiguous
        and scores.flags.aligned
    )
    return scores if kept else np.require(scores, np.float64, ("C", "A"))


def _until(deadline: Deadline, fill: Callable[[np.ndarray], object], table_bytes: int) -> None:
    with turn_of(table_bytes, deadline.left) as granted, deadline.flag() as stop:
        try:
            if not granted:
                stop.fill(1)
            fill(stop)
        finally:  # after a Ctrl-C as well, which leaves the threads to themselves
            stop.fill(1)


def _lane_nanoseconds(plan: Plan, batch: int) -> float:
    """Estimated work of an instance with LANES of them side by side."""
    if not plan.has_offsets:
        return np.inf
    used = batch / (LANES * -(-batch // LANES)) if batch else 1.0
    return (LANE_ENTRY_NANOSECONDS * plan.entries + LANE_STEP_NANOSECONDS * plan.n) / used


def _table_nanoseconds(plan: Plan) -> float:
    """Estimated work of an instance by itself."""
    near = plan.table_arena <= NEAR_ENTRIES
    entry = TABLE_ENTRY_NANOSECONDS if near else FAR_ENTRY_NANOSECONDS
    return entry * plan.entries + TABLE_STEP_NANOSECONDS * plan.n
