"""Max-sum on forests, with how many variables of a group are 1 as one more dimension of the tables.

The table of a variable has the best score of its subtree for each of its values and each count within the subtree. A
child is merged into its parent by the best split of the count between what was merged before and the child.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ...arrays import States
from ...compiled import jit
from ...compiled.graphs import neighbour_lists
from ...compiled.threads import over_slices, threads_in_memory
from ...problem import Problem

NANOSECONDS = 1.0
"""Of a split, about."""


class Forest(NamedTuple):
    """A graph without circles, children first.

    Attributes:
        order: `[n]`, every variable after its children.
        parent: `[n]`, of every variable; -1 for a root.
        edge: `[n]`, to the parent; -1 for a root.
    """

    order: np.ndarray
    parent: np.ndarray
    edge: np.ndarray


class Tables(NamedTuple):
    """Where the tables of a forest and a group lie, one behind the other.

    Attributes:
        sizes: `[n]`, the largest count of each subtree that matters.
        starts: `[n + 1]`: two rows of `sizes + 1` entries for each variable.
        splits: `[n + 1]`: of each variable the child's count, for two rows of the counts of its parent and of those
            merged before it.
        merged: `[n]`, the largest count of the parent once a variable is merged into it; of a root, of all roots.
        work: splits that are tried in all.
    """

    sizes: np.ndarray
    starts: np.ndarray
    splits: np.ndarray
    merged: np.ndarray
    work: int

    @property
    def bytes(self) -> int:
        """Of an instance."""
        return int(8 * self.starts[-1] + 4 * self.splits[-1])


def forest_of(n: int, edges: np.ndarray) -> Forest | None:
    """The forest that a graph is; None where it has a circle."""
    found, order, parent, edge = _forest(n, edges)
    return Forest(order, parent, edge) if found else None


def tables_of(forest: Forest, group: np.ndarray, most: int) -> Tables:
    """The tables for counts of a group `[n]` (1 for its variables) of at most `most`."""
    sizes, merged, work = _sizes(*forest, np.asarray(group, np.int64), most)
    starts = np.concatenate(([0], np.cumsum(2 * (sizes + 1))))
    splits = np.concatenate(([0], np.cumsum(2 * (merged + 1))))
    return Tables(sizes, starts, splits, merged, int(work))


def counted_max_sum(
    problem: Problem,
    forest: Forest,
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
    if low > high:
        return None
    tables = tables_of(forest, group, high)
    z = np.full((problem.batch, problem.n), -1, np.int8)
    kernel = partial(
        _instances, forest, tables[:4], group.astype(np.int64), low, high, values.astype(np.int8)
    )
    scores = (np.ascontiguousarray(part, np.float64) for part in (problem.unary, problem.pairwise))
    workers = threads_in_memory(threads, tables.bytes)
    over_slices(kernel, *scores, z, nanoseconds=NANOSECONDS * tables.work, threads=workers)
    return None if (z < 0).any() else z


@jit.strict
def _forest(n, edges):
    """Whether there is no circle, and the fields of `Forest`, by a walk from every root."""
    starts, near, which = neighbour_lists(n, edges)
    order, parent, edge = np.empty(n, np.int64), np.full(n, -1), np.full(n, -1)
    seen, stack = np.zeros(n, np.bool_), np.empty(n, np.int64)
    place = n
    for root in range(n):
        if seen[root]:
            continue
        seen[root], stack[0], top = True, root, 1
        while top:
            top -= 1
            v = stack[top]
            place -= 1
            order[place] = v
            for k in range(starts[v], starts[v + 1]):
                u = near[k]
                if which[k] == edge[v]:
                    continue
                if seen[u]:
                    return False, order, parent, edge
                seen[u], parent[u], edge[u], stack[top] = True, v, which[k], u
                top += 1
    return True, order, parent, edge


@jit.strict
def _sizes(order, parent, edge, group, most):
    """The largest counts of `Tables`, and the work."""
    n = len(order)
    sizes, merged, work = group.copy(), np.zeros(n, np.int64), 0
    roots = 0
    for v in order:
        sizes[v] = min(sizes[v], most)
        before = roots if parent[v] < 0 else sizes[parent[v]]
        after = min(before + sizes[v], most)
        work += 2 * (before + 1) * (sizes[v] + 1)
        merged[v] = after
        if parent[v] < 0:
            roots = after
        else:
            sizes[parent[v]] = after
    return sizes, merged, work


@jit.strict
def _instances(forest, layout, group, low, high, values, unary, pairwise, z):
    """Writes the states `[batch, n]`; leaves -1 where there is none."""
    sizes, starts, splits, _ = layout
    table, split = np.empty(starts[-1]), np.empty(splits[-1], np.int32)
    filled = np.empty(len(sizes), np.int64)
    roots = np.empty((2, max(high, 0) + 1))
    for b in range(len(unary)):
        last = _fill(forest, layout, group, values, unary[b], pairwise[b], table, split, filled, roots)
        best = -1
        for count in range(max(low, 0), min(high, last) + 1):
            if roots[0, count] > -np.inf and (best < 0 or roots[0, count] > roots[0, best]):
                best = count
        if best >= 0:
            _trace(forest, layout, pairwise[b], table, split, best, z[b])


@jit.strict_inner
def _fill(forest, layout, group, values, unary, pairwise, table, split, filled, roots):
    """Fills all tables, children first; returns the largest count of all, whose scores are in `roots[0]`."""
    sizes, starts, splits, merged = layout
    for v in range(len(sizes)):
        row = sizes[v] + 1
        table[starts[v] : starts[v + 1]] = -np.inf
        filled[v] = 0
        if values[v] != 1:
            table[starts[v]] = 0.0
        if values[v] != 0 and group[v] <= sizes[v]:
            table[starts[v] + row + group[v]] = unary[v]
            filled[v] = group[v]
    roots[:] = -np.inf
    roots[0, 0], last = 0.0, 0
    message, kept = np.empty(roots.shape[1]), np.empty(roots.shape[1])
    for v in forest.order:
        row, p = sizes[v] + 1, forest.parent[v]
        for value in range(2 if p >= 0 else 1):
            weight = pairwise[forest.edge[v]] if value else 0.0
            for count in range(row):
                message[count] = max(table[starts[v] + count], table[starts[v] + row + count] + weight)
            choice = split[splits[v] + value * (merged[v] + 1) : splits[v] + (value + 1) * (merged[v] + 1)]
            if p < 0:
                _merge(message[:row], roots[0], last, kept, choice)
            else:
                start = starts[p] + value * (sizes[p] + 1)
                _merge(message[:row], table[start : start + sizes[p] + 1], filled[p], kept, choice)
        if p < 0:
            last = merged[v]
        else:
            filled[p] = merged[v]
    return last


@jit.strict_inner
def _merge(message, entries, before, kept, choice):
    """Adds a child's message to the entries of its parent, counts up to `before`, by the best split of each count."""
    kept[: before + 1] = entries[: before + 1]
    for count in range(len(choice)):
        best, chosen = -np.inf, 0
        for here in range(max(0, count - before), min(count, len(message) - 1) + 1):
            score = kept[count - here] + message[here]
            if score > best:
                best, chosen = score, here
        entries[count], choice[count] = best, chosen


@jit.strict_inner
def _trace(forest, layout, pairwise, table, split, count, z):
    """Writes the state of `count` in all, from the roots down."""
    sizes, starts, splits, merged = layout
    n = len(sizes)
    left = np.empty(n, np.int64)  # the count of a subtree without the children that have theirs already
    all_left = count
    for k in range(n - 1, -1, -1):
        v = forest.order[k]
        p = forest.parent[v]
        value = 0 if p < 0 else z[p]
        before = all_left if p < 0 else left[p]
        here = split[splits[v] + value * (merged[v] + 1) + before]
        if p < 0:
            all_left = before - here
        else:
            left[p] = before - here
        left[v] = here
        weight = pairwise[forest.edge[v]] if value else 0.0
        row = sizes[v] + 1
        z[v] = table[starts[v] + row + here] + weight > table[starts[v] + here]
