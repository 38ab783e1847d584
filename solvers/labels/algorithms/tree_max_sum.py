"""Find the best assignments of a batch on a forest, by Viterbi's algorithm, compiled.

The values of a message stay side by side in registers while the kernel reads the rows of a table.
No choices are stored. In the backward pass, each variable chooses again for the value of its
parent.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import States
from ...compiled._kernels import labels as kernels
from ...compiled.plain import plain
from ...compiled.threads import over_slices
from ..problem import LabelProblem
from .buckets import Buckets

ENTRY_NANOSECONDS = 0.4
STEP_NANOSECONDS = 20.0


def tree_max_sum(problem: LabelProblem, buckets: Buckets) -> States:
    """Return an assignment `[batch, n]` of highest score for each instance.

    Args:
        problem: on the host.
        buckets: the elimination of the problem, in which no separator has two variables.
    """
    steps = _steps_of(buckets)
    rows = plain(np.asarray(problem.tables, np.float64))
    # Transposed copies let the kernel read rows; they are only made if a step needs them.
    if (steps[:, 3] == 0).any():
        turned = plain(rows.swapaxes(-1, -2))
    else:
        turned = rows[:, :0]
    weights = _weights_of(problem)
    unary = plain(np.asarray(problem.unary, np.float64))
    table = _row_of_instance(rows, problem.batch)
    weight = _row_of_instance(weights, problem.batch)
    labels = np.empty((problem.batch, problem.n), np.int64)
    shared = (
        problem.sizes.astype(np.int64),
        steps,
        np.ascontiguousarray(problem.table_of, np.int64),
        rows,
        turned,
        weights,
    )
    work = ENTRY_NANOSECONDS * buckets.entries + STEP_NANOSECONDS * problem.n
    over_slices(
        partial(kernels.best_labels, *shared), unary, table, weight, labels, nanoseconds=work
    )
    return labels


def _row_of_instance(rows: np.ndarray, batch: int) -> np.ndarray:
    """Return the row `[batch]` of each instance; a single row belongs to all instances."""
    if len(rows) > 1:
        return np.arange(batch)
    return np.zeros(batch, np.int64)


def _steps_of(buckets: Buckets) -> np.ndarray:
    """Return `[n, 4]`: variable, parent or -1, edge, whether the variable is the edge's first."""
    rows = []
    for step in buckets.steps:
        edge = 0
        second = False
        if step.edges:
            edge, _, second = step.edges[0]
        parent = -1
        if step.separator:
            parent = step.separator[0]
        rows.append((step.variable, parent, edge, not second))
    return np.array(rows, np.int64)


def _weights_of(problem: LabelProblem) -> np.ndarray:
    """Return weights `[1 or batch, e]`, without columns if all weights are 1."""
    if problem.weights is None:
        return np.empty((1, 0))
    return plain(np.asarray(problem.weights, np.float64))
