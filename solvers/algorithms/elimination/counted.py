"""Max-sum on forests, with the number of ones in a group as one more dimension of the tables.

The table of a variable contains the best score of its subtree for each of its values and each count
within the subtree. A child is merged into its parent by the best split of the count between the
child and the children merged before.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import Edges, States
from ...compiled._kernels import elimination as kernels
from ...compiled.threads import over_slices, threads_in_memory
from ...problems.problem import Problem

NANOSECONDS = 1.0
"""Approximate time per split."""


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
) -> States | None:
    """Return the best states `[batch, n]` under bounds on the ones in a group; None if infeasible.

    Args:
        problem: the batch, on the host.
        forest: the forest of its graph.
        group: `[n]` bool.
        counts: the least and the greatest count, at most the size of the group.
        values: `[n]`: 0 or 1 for fixed variables, -1 for the others.
        threads: maximum number of threads; None for all cores.
    """
    low, high = counts
    if low > high or high < 0:
        return None
    tables = tables_of(forest, group, high)
    # An instance without a feasible state keeps its -1.
    z = np.full((problem.batch, problem.n), -1, np.int8)
    kernel = partial(kernels.counted_max_sum, forest, tables, low, values.astype(np.int8))
    unary = np.ascontiguousarray(problem.unary, np.float64)
    pairwise = np.ascontiguousarray(problem.pairwise, np.float64)
    # Every thread fills tables of its own, so memory limits the number of threads.
    workers = threads_in_memory(threads, tables.bytes)
    work = NANOSECONDS * tables.work
    over_slices(kernel, unary, pairwise, z, nanoseconds=work, threads=workers)
    if (z < 0).any():
        return None
    return z
