"""Rank the best assignments on a forest: Viterbi's algorithm with lists in place of maxima.

Each variable has a list for each of its values: the best assignments of the variables below it in
its tree. A list holds at most as many assignments as the caller wants, so the lists of the roots
hold the best assignments of all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...arrays import States
from ...limits.deadline import Deadline
from ..problem import LabelProblem
from .buckets import Buckets

MOST_SUMS = 1 << 28
"""Maximum number of sums of two list entries in an instance, about two seconds of work."""

TOGETHER = 1 << 22
"""Maximum number of values in the instances that are ranked together between time checks."""


class _Choices(NamedTuple):
    """Origins of the entries of a variable's lists; all arrays are `[batch, k, entries]`.

    Attributes:
        child: the variable whose lists were added.
        rank: the rank in the variable's lists before the child was added.
        child_value: the value of the child.
        child_rank: the rank in the child's list of this value.
    """

    child: int
    rank: np.ndarray
    child_value: np.ndarray
    child_rank: np.ndarray


def best_labels(
    problem: LabelProblem, buckets: Buckets, count: int, deadline: Deadline
) -> States | None:
    """Return the `count` best assignments of each instance, `[batch, count, n]`.

    None if an instance has fewer allowed assignments, if the lists would take long, or if time runs
    out.

    Args:
        problem: a problem on the host, without tables of different sizes.
        buckets: the elimination of the problem, in which no separator has two variables.
        count: length of the lists.
        deadline: the deadline of the whole batch.

    References:
        Seroussi and Golmard (1994), An algorithm directly finding the K most probable
        configurations in Bayesian networks.
    """
    entries = problem.n * problem.k * count
    if entries * (problem.k + count) > MOST_SUMS:
        return None
    dense = problem.dense()
    step = max(1, TOGETHER // max(1, entries, problem.k * count * max(problem.k, count)))
    ranked = [np.empty((0, count, problem.n), np.int64)]
    for first in range(0, problem.batch, step):
        if deadline.passed:
            return None
        states = _best_of(dense.instances(slice(first, first + step)), buckets, count)
        if states is None:
            return None
        ranked.append(states)
    return np.concatenate(ranked)


def _best_of(problem: LabelProblem, buckets: Buckets, count: int) -> np.ndarray | None:
    """Return the best assignments `[batch, count, n]`; None if an instance has fewer."""
    root = problem.n
    unary = np.asarray(problem.unary, np.float64)
    lists = [unary[:, variable, :, None] for variable in range(problem.n)]
    # A variable of one value, without scores, is the parent of the roots of all trees.
    lists.append(np.zeros((problem.batch, 1, 1)))
    choices: list[list[_Choices]] = [[] for _ in lists]
    # Invariant: the lists of a variable hold the best assignments of the trees of its children so
    # far. The step of a variable comes after the steps of all its children.
    for step in buckets.steps:
        parent = root
        table = np.zeros((1, 1, problem.k))
        if step.separator:
            parent = step.separator[0]
            edge, _, is_second = step.edges[0]
            table = _table_of(problem, edge)
            if not is_second:
                table = table.swapaxes(1, 2)
        child = lists[step.variable]
        below, from_child = _largest(table[:, :, :, None] + child[:, None], count)
        both, from_both = _largest(lists[parent][:, :, :, None] + below[:, :, None], count)
        rank, message = np.divmod(from_both, below.shape[2])
        chosen = np.take_along_axis(from_child, message, axis=2)
        value, child_rank = np.divmod(chosen, child.shape[2])
        choices[parent].append(_Choices(step.variable, rank, value, child_rank))
        lists[parent] = both
    best = lists[root][:, 0]
    if best.shape[1] < count or (best[:, -1] == -math.inf).any():
        return None
    return _states_of(choices, buckets, best.shape)


def _table_of(problem: LabelProblem, edge: int) -> np.ndarray:
    """Return the tables of an edge, `[1 or batch, k, k]`; rows are values of its first variable."""
    table = np.asarray(problem.tables[:, problem.table_of[edge]], np.float64)
    if problem.weights is None:
        return table
    return table * np.asarray(problem.weights[:, edge], np.float64)[:, None, None]


def _largest(sums: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the `count` largest of the sums `[batch, rows, a, b]` of each row, in falling order.

    Returns:
        The sums and their places in the flat row, `[batch, rows, count]`; fewer if a row has fewer.
    """
    flat = sums.reshape(*sums.shape[:2], -1)
    places = np.broadcast_to(np.arange(flat.shape[2]), flat.shape)
    if flat.shape[2] > count:
        places = np.argpartition(-flat, count - 1, axis=2)[:, :, :count]
    chosen = np.take_along_axis(flat, places, axis=2)
    order = np.argsort(-chosen, axis=2, kind="stable")
    return np.take_along_axis(chosen, order, axis=2), np.take_along_axis(places, order, axis=2)


def _states_of(
    choices: list[list[_Choices]], buckets: Buckets, shape: tuple[int, ...]
) -> np.ndarray:
    """Follow the choices of the best entries `[batch, count]` down; return `[batch, count, n]`."""
    root = len(choices) - 1
    instance = np.arange(shape[0])[:, None]
    value = np.zeros((len(choices), *shape), np.int64)
    rank = np.zeros((len(choices), *shape), np.int64)
    rank[root] = np.arange(shape[1])
    for variable in (root, *(step.variable for step in reversed(buckets.steps))):
        # The child that was added last is the first to be taken off.
        for choice in reversed(choices[variable]):
            entry = (instance, value[variable], rank[variable])
            value[choice.child] = choice.child_value[entry]
            rank[choice.child] = choice.child_rank[entry]
            rank[variable] = choice.rank[entry]
    return np.moveaxis(value[:root], 0, 2)
