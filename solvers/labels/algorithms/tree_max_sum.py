"""The best assignment of every instance of a batch whose graph is a forest: Viterbi's algorithm, compiled.

A message's values stay side by side in registers while the rows of a table pass, and no choices are kept: on the way
back a variable chooses anew, for the one value that its parent has.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import States
from ...compiled import jit
from ...compiled.plain import plain
from ...compiled.threads import over_slices
from ...compiled.vectors import LANES, add, fill, larger, load, store
from ..problem import LabelProblem
from .buckets import Buckets

ENTRY_NANOSECONDS = 0.4
STEP_NANOSECONDS = 20.0


def tree_max_sum(problem: LabelProblem, buckets: Buckets) -> States:
    """`[batch, n]`: an assignment of the highest score of each instance.

    Args:
        problem: on the host.
        buckets: its elimination, in which no separator has two variables.
    """
    steps = _steps_of(buckets)
    rows = plain(np.asarray(problem.tables, np.float64))
    turned = plain(rows.swapaxes(-1, -2)) if (steps[:, 3] == 0).any() else rows[:, :0]
    weights = _weights_of(problem)
    unary = plain(np.asarray(problem.unary, np.float64))
    table = np.arange(problem.batch) if len(rows) > 1 else np.zeros(problem.batch, np.int64)
    weight = np.arange(problem.batch) if len(weights) > 1 else np.zeros(problem.batch, np.int64)
    labels = np.empty((problem.batch, problem.n), np.int64)
    shared = (problem.sizes.astype(np.int64), steps, problem.table_of, rows, turned, weights)
    work = ENTRY_NANOSECONDS * buckets.entries + STEP_NANOSECONDS * problem.n
    over_slices(partial(_best_labels, *shared), unary, table, weight, labels, nanoseconds=work)
    return labels


def _steps_of(buckets: Buckets) -> np.ndarray:
    """`[n, 4]`: variable, parent or -1, edge, and whether the variable is the edge's first."""
    rows = []
    for step in buckets.steps:
        edge, _, second = step.edges[0] if step.edges else (0, 1, False)
        rows.append((step.variable, step.separator[0] if step.separator else -1, edge, not second))
    return np.array(rows, np.int64)


def _weights_of(problem: LabelProblem) -> np.ndarray:
    """`[1 or batch, e]`; no columns where all are one."""
    if problem.weights is None:
        return np.empty((1, 0))
    return plain(np.asarray(problem.weights, np.float64))


@jit.strict
def _best_labels(sizes, steps, table_of, rows, turned, weights, unary, table, weight, labels):
    """Fills `labels`.

    Args:
        sizes: `[n]`.
        steps: `[n, 4]`, children before parents.
        table_of: `[e]`.
        rows: `[1 or all, t, k, k]`.
        turned: the same, transposed; empty where no step reads it.
        weights: `[1 or all, e]`, or `[1, 0]`.
        unary: `[batch, n, k]`.
        table: `[batch]`, which of `rows` is an instance's.
        weight: `[batch]`, which of `weights`.
        labels: `[batch, n]`.
    """
    n, k = unary.shape[1:]
    sums, message = np.empty((n, k)), np.empty(k)
    for b in range(len(unary)):
        sums[:] = unary[b]
        for t in range(n):
            v, parent, edge, first = steps[t]
            if parent < 0:
                continue
            of_edge = (rows if first else turned)[table[b], table_of[edge]]
            factor = weights[weight[b], edge] if weights.shape[1] else 1.0
            _maxima(sums[v, : sizes[v]], of_edge, factor, message[: sizes[parent]])
            for x in range(sizes[parent]):
                sums[parent, x] += message[x]
        for t in range(n - 1, -1, -1):
            v, parent, edge, first = steps[t]
            if parent < 0:
                labels[b, v] = np.argmax(sums[v, : sizes[v]])
                continue
            of_edge = (rows if first else turned)[table[b], table_of[edge]]
            factor = weights[weight[b], edge] if weights.shape[1] else 1.0
            labels[b, v] = _choice(sums[v, : sizes[v]], of_edge[:, labels[b, parent]], factor)


@jit.strict
def _maxima(sums, table, factor, message):
    """message[x] = max_y sums[y] + factor * table[y, x]."""
    size, k = len(message), table.shape[1]
    if factor == 0.0:  # as beyond the end of a chain: whatever the table is
        message[:] = np.max(sums)
        return
    if factor != 1.0 or size < LANES:
        message[:] = -np.inf
        for y in range(len(sums)):
            for x in range(size):
                value = sums[y] + factor * table[y, x]
                message[x] = value if value > message[x] else message[x]
        return
    flat = table.reshape(-1)
    for start in range(0, size, LANES):
        here = min(start, size - LANES)  # the last columns may come twice
        largest = fill(-np.inf)
        for y in range(len(sums)):
            largest = larger(add(fill(sums[y]), load(flat, y * k + here)), largest)
        store(message, here, largest)


@jit.strict
def _choice(sums, column, factor):
    """argmax_y sums[y] + factor * column[y]."""
    if factor == 0.0:
        return np.argmax(sums)
    best, choice = -np.inf, 0
    for y in range(len(sums)):
        value = sums[y] + factor * column[y]
        if value > best:
            best, choice = value, y
    return choice
