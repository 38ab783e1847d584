"""Maximise pairwise problems of small treewidth exactly, by max-sum variable elimination.

One variable after the other is maximised out. That leaves a problem over the other variables, with
a table over the neighbours of the eliminated one. Each table entry keeps one bit, the best value of
the variable, from which a maximiser is read off backwards. All sums are in float64. The score of a
state is a sum of n + e coefficients in some order. So the answer is within eps * (n + e) * sum
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
from ...compiled.plain import plain
from ...compiled.threads import NANOSECONDS_A_THREAD, over_slices, threads_in_memory
from ...limits.deadline import WATCHED, Deadline
from ...limits.memory import turn_of
from ...problems.problem import DOUBLE
from .order import NEVER
from .plan import Plan

LANES = 16
"""Instances, or entries of a table, that one vector handles."""

# The constants below are fitted to grids, trees and ladders.
LANE_ENTRY_NANOSECONDS = 0.22
LANE_STEP_NANOSECONDS = 0.9
TABLE_ENTRY_NANOSECONDS = 0.15
TABLE_STEP_NANOSECONDS = 17.0
FAR_ENTRY_NANOSECONDS = 0.3  # where the messages in use do not fit into the cache
NEAR_ENTRIES = 1 << 18


def max_sum(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    threads: int | None = None,
    deadline: Deadline | None = None,
) -> tuple[States, Scores]:
    """Return the maximisers `[batch, n]` and their scores `[batch]`, up to rounding.

    If the deadline passes first, or other searches use the memory until then, scores are NaN and
    states are arbitrary.

    Args:
        plan: the plan of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        threads: maximum number of threads; None for all cores.
        deadline: time at which the elimination ends; None for no limit.
    """
    unary, pairwise = _readable(unary, pairwise)
    batch = len(unary)
    z = np.empty((batch, plan.n), np.int8)
    maxima = np.empty(batch)
    # Choose the kernel with less work: many instances in lanes, or one table after the other.
    lanes = _lane_nanoseconds(plan, batch)
    tables = _table_nanoseconds(plan)
    if lanes < tables:
        kernel = kernels.max_sum_lanes
        work = lanes
        together = LANES
        bytes_a_thread = LANES * (8 * plan.lane_arena + plan.entries)
    else:
        kernel = kernels.max_sum_tables
        work = tables
        together = 1
        bytes_a_thread = plan.table_bytes
    if work * batch < NANOSECONDS_A_THREAD:  # too short for threads
        kernel(plan.schedule, NEVER, unary, pairwise, z, maxima)
        return z, maxima
    arrays = (unary, pairwise, z, maxima)
    workers = threads_in_memory(threads, bytes_a_thread)
    share = partial(over_slices, nanoseconds=work, threads=workers, together=together)
    # A search without a deadline, or too short for it to matter, needs no watch.
    if work * batch < 1e9 * WATCHED or deadline is None:
        share(partial(kernel, plan.schedule, NEVER), *arrays)
    else:

        def fill(stop: np.ndarray) -> None:
            share(partial(kernel, plan.schedule, stop), *arrays)

        _until(deadline, fill, bytes_a_thread)
    return z, maxima


def _readable(unary: np.ndarray, pairwise: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return both as contiguous arrays of one type, float32 or float64, copied only if needed."""
    dtype = DOUBLE
    if unary.dtype == pairwise.dtype == np.float32:
        dtype = unary.dtype
    return plain(unary.astype(dtype, copy=False)), plain(pairwise.astype(dtype, copy=False))


def _until(deadline: Deadline, fill: Callable[[np.ndarray], object], table_bytes: int) -> None:
    with turn_of(table_bytes, deadline.left) as granted, deadline.flag() as stop:
        try:
            if not granted:
                stop.fill(1)
            fill(stop)
        finally:  # also after Ctrl-C, which does not wait for the threads
            stop.fill(1)


def _lane_nanoseconds(plan: Plan, batch: int) -> float:
    """Estimate the work of an instance when LANES of them share a vector."""
    if not plan.has_offsets:
        return np.inf
    used = 1.0
    if batch:
        used = batch / (LANES * -(-batch // LANES))
    return (LANE_ENTRY_NANOSECONDS * plan.entries + LANE_STEP_NANOSECONDS * plan.n) / used


def _table_nanoseconds(plan: Plan) -> float:
    """Estimate the work of a single instance."""
    near = plan.table_arena <= NEAR_ENTRIES
    entry = FAR_ENTRY_NANOSECONDS
    if near:
        entry = TABLE_ENTRY_NANOSECONDS
    return entry * plan.entries + TABLE_STEP_NANOSECONDS * plan.n
