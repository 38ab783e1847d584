"""Max-sum on forests, with how many variables of a group are 1 as one more dimension of the tables.

The table of a variable has the best score of its subtree for each of its values and each count
within the subtree. A child is merged into its parent by the best split of the count between what
was merged before and the child.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import Edges, States
from ...compiled._kernels import elimination as kernels
from ...compiled.threads import over_slices, threads_in_memory
from ...problem import Problem

NANOSECONDS = 1.0
"""Of a split, about."""


def forest_of(n: int, edges: Edges) -> kernels.Forest | None:
    """The forest that a graph is; None where it has a circle."""
    return kernels.forest(n, edges)


def tables_of(forest: kernels.Forest, group: np.ndarray, most: int) -> kernels.CountTables:
    """The tables for counts of a group `[n]` (1 for its variables) of at most `most`."""
    return kernels.CountTables(forest, group.astype(np.int8), min(most, len(group)))


def counted_max_sum(
    problem: Problem,
    forest: kernels.Forest,
    group: np.ndarray,
    counts: tuple[int, int],
    values: np.ndarray,
    threads: int | None,
) -> States | None:
    """`[batch, n]`: the best states with so many variables of a group at 1; None where there is none.

    Args:
        problem: on the host.
        forest: its graph.
        group: `[n]` bool.
        counts: the least and the greatest number, at most as many as the group has.
        values: `[n]`: 0 or 1 for variables that keep it, -1 for the others.
        threads: most threads to use; None for all cores.
    """
    low, high = counts
    if low > high or high < 0:
        return None
    tables = tables_of(forest, group, high)
    z = np.full((problem.batch, problem.n), -1, np.int8)
    kernel = partial(kernels.counted_max_sum, forest, tables, low, values.astype(np.int8))
    scores = (np.ascontiguousarray(part, np.float64) for part in (problem.unary, problem.pairwise))
    workers = threads_in_memory(threads, tables.bytes)
    over_slices(kernel, *scores, z, nanoseconds=NANOSECONDS * tables.work, threads=workers)
    return None if (z < 0).any() else z
