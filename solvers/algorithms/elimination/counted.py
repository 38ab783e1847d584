"""Max-sum on forests, with the number of ones in a group as one more dimension of the tables.

The table of a variable contains the best score of its subtree for each of its values and each count
within the subtree. A child is merged into its parent by the best split of the count between the
child and the children merged before.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import Edges, Flags, States
from ...compiled._kernels import elimination as kernels
from ...compiled.threads import over_slices, threads_in_memory
from ...limits.deadline import Deadline
from ...problems.problem import Problem
from ...solution import Maximiser
from .counted_relaxation import relax_count

NANOSECONDS = 1.0
"""Approximate time per split."""

AFTER_SECONDS = 0.05
"""Seconds for prices in place of the count after a time limit has ended the tables."""


def forest_of(n: int, edges: Edges) -> kernels.Forest | None:
    """Return the forest of a graph; None if it has a cycle."""
    return kernels.forest(n, edges)


def tables_of(forest: kernels.Forest, group: np.ndarray, most: int) -> kernels.CountTables:
    """Return the tables for counts, up to `most`, of a group `[n]` (1 for its variables)."""
    return kernels.CountTables(forest, group.astype(np.int8), min(most, len(group)))


def counted_max_sum(
    problem: Problem,
    forest: kernels.Forest,
    group: np.ndarray,
    counts: tuple[int, int],
    values: np.ndarray,
    threads: int | None,
    deadline: Deadline,
) -> Maximiser | None:
    """Return the best states under bounds on the ones in a group; None if infeasible.

    Instances that the deadline leaves without tables get a feasible state, and a bound.

    Args:
        problem: the batch, on the host.
        forest: the forest of its graph.
        group: `[n]` bool.
        counts: the least and the greatest count, at most the size of the group.
        values: `[n]`: 0 or 1 for fixed variables, -1 for the others.
        threads: maximum number of threads; None for all cores.
        deadline: when to end.
    """
    fixed_ones = int((values[group] == 1).sum())
    low = max(counts[0], fixed_ones)
    high = min(counts[1], fixed_ones + int((values[group] < 0).sum()))
    if low > high:
        return None
    tables = tables_of(forest, group, high)
    seconds = 1e-9 * NANOSECONDS * tables.work * problem.batch
    with deadline.flag(seconds) as stop:
        z, complete = _filled(problem, forest, tables, low, values, threads, stop)
    if complete.all():
        return Maximiser(z)
    left = np.flatnonzero(~complete)
    uncounted = tables_of(forest, np.zeros(problem.n), 0)

    def maximise(priced: Problem) -> States:
        no_stop = np.zeros(1, np.uint8)
        return _filled(priced, forest, uncounted, 0, values, threads, no_stop)[0]

    soon = Deadline.after(AFTER_SECONDS)
    rest = relax_count(problem.instances(left), group, (low, high), values, maximise, soon)
    z[left] = rest.z
    bound = np.asarray(problem.score_flat(z))
    bound[left] = rest.bound
    return Maximiser(z, bound)


def _filled(
    problem: Problem,
    forest: kernels.Forest,
    tables: kernels.CountTables,
    low: int,
    values: np.ndarray,
    threads: int | None,
    stop: np.ndarray,
) -> tuple[States, Flags]:
    """Return the best states `[batch, n]`, and which instances have one, `[batch]`."""
    z = np.full((problem.batch, problem.n), -1, np.int8)
    complete = np.zeros(problem.batch, np.bool_)
    unary = np.ascontiguousarray(problem.unary, np.float64)
    pairwise = np.ascontiguousarray(problem.pairwise, np.float64)
    # Every thread fills tables of its own, so memory limits the number of threads.
    workers = threads_in_memory(threads, tables.bytes)
    kernel = partial(kernels.counted_max_sum, forest, tables, low, values.astype(np.int8), stop)
    work = NANOSECONDS * tables.work
    over_slices(kernel, unary, pairwise, z, complete, nanoseconds=work, threads=workers)
    return z, complete
