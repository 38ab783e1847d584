"""Augmenting paths by two breadth-first trees that grow towards each other.

The source tree holds nodes that a positive balance reaches along residual arcs, the sink tree nodes that
reach a negative one. Where the trees meet, flow goes along the path. A node whose arc to its parent is
used up is an orphan: it takes another parent one level nearer to the roots, or else rises to the lowest
level at which it has one and orphans its children, or else leaves the tree. Levels do not fall, so that the
trees stay breadth-first ones: there are O(n^2 e) steps.

References:
    Goldberg, Hed, Kaplan, Tarjan, Werneck (2011), Maximum flows by incremental breadth-first search.
    Boykov, Kolmogorov (2004), An experimental comparison of min-cut/max-flow algorithms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

ROOT = np.uint32(2**32 - 1)
NOBODY = np.uint32(2**32 - 2)
FREE = 0
UNFINISHED = -1
SOURCE, SINK = 0, 1


class Trees(NamedTuple):
    """Scratch of `grow_trees`; index 0 is the source tree and 1 the sink tree.

    Attributes:
        parent: `[n]`, the arc to the parent, ROOT, or NOBODY.
        level: `[n]`, from 1 in the source tree, from -1 downwards in the sink tree, FREE in neither.
        growing: `[2]`, the level of each tree whose nodes look for children next.
        front: `[2, 2, n]`, the nodes of that level and of the one above it, by parity of the level.
        front_size: `[2, 2]`.
        in_front: `[n]`, the level at which a node was last put into a front.
        orphans: `[2, n + 2]`, the first orphan of each height, or NOBODY.
        next_orphan: `[n]`, the next of the same height.
        orphan_count: `[2]`.
        lowest: `[2]`, no orphan is lower.
    """

    parent: np.ndarray
    level: np.ndarray
    growing: np.ndarray
    front: np.ndarray
    front_size: np.ndarray
    in_front: np.ndarray
    orphans: np.ndarray
    next_orphan: np.ndarray
    orphan_count: np.ndarray
    lowest: np.ndarray


@njit(cache=True, nogil=True)
def new_trees(n):
    """Scratch for graphs of n nodes."""
    return Trees(
        np.empty(n, np.uint32),
        np.empty(n, np.int32),
        np.empty(2, np.int64),
        np.empty((2, 2, n), np.uint32),
        np.empty((2, 2), np.int64),
        np.empty(n, np.int32),
        np.empty((2, n + 2), np.uint32),
        np.empty(n, np.uint32),
        np.empty(2, np.int64),
        np.empty(2, np.int64),
    )


@njit(cache=True, nogil=True)
def grow_trees(arcs, balance, residual, trees, most_steps):
    """Augments until a tree cannot grow, which is then one side of a minimum cut.

    Returns SOURCE or SINK, the tree that is complete, or UNFINISHED after most_steps; balances and
    residuals are consistent then too.
    """
    _plant(balance, trees)
    steps = 0
    while True:
        side = np.int64(_front_size(trees, SINK) < _front_size(trees, SOURCE))
        if _front_size(trees, side) == 0:
            return side
        level = (1 - 2 * side) * trees.growing[side]
        parity = level & 1
        scanned = 0
        while scanned < trees.front_size[side, parity]:
            node = trees.front[side, parity, scanned]
            scanned += 1
            if trees.level[node] != level:
                continue
            for a in range(arcs.start[node], arcs.start[node + 1]):
                other = arcs.head[a]
                forward = arcs.mate[a] if side else a
                while residual[forward] > 0 and trees.level[other] * level < 0:
                    steps += abs(level - trees.level[other])
                    _augment(forward, arcs, balance, residual, trees)
                    steps += _adopt(SOURCE, trees.growing[0] + (side == 0), arcs, residual, trees)
                    steps += _adopt(SINK, trees.growing[1] + (side == 1), arcs, residual, trees)
                    if trees.level[node] != level:
                        break
                if trees.level[node] != level:
                    break
                if residual[forward] > 0 and trees.level[other] == FREE:
                    trees.parent[other] = arcs.mate[a]
                    _rise(other, side, trees.growing[side] + 1, trees)
            if steps > most_steps:
                return UNFINISHED
        trees.front_size[side, parity] = 0
        trees.growing[side] += 1


@njit(cache=True, nogil=True)
def _plant(balance, trees):
    """Makes every node with a balance a root."""
    trees.growing[:] = 1
    trees.front_size[:] = 0
    trees.in_front[:] = FREE
    trees.orphans[:] = NOBODY
    trees.orphan_count[:] = 0
    trees.lowest[:] = 1
    for i in range(balance.shape[0]):
        trees.parent[i] = ROOT
        trees.level[i] = FREE
        if balance[i] != 0:
            _rise(i, np.int64(balance[i] < 0), 1, trees)


@njit(cache=True, nogil=True, inline="always")
def _front_size(trees, side):
    return trees.front_size[side, trees.growing[side] & 1]


@njit(cache=True, nogil=True, inline="always")
def _rise(node, side, height, trees):
    """Puts a node at a height of a tree, and into the front if it has still to look for children there."""
    level = height if side == SOURCE else -height
    trees.level[node] = level
    if height >= trees.growing[side] and trees.in_front[node] != level:
        trees.in_front[node] = level
        parity = height & 1
        trees.front[side, parity, trees.front_size[side, parity]] = node
        trees.front_size[side, parity] += 1


@njit(cache=True, nogil=True, inline="always")
def _orphan(node, side, trees):
    height = abs(trees.level[node])
    trees.parent[node] = NOBODY
    trees.next_orphan[node] = trees.orphans[side, height]
    trees.orphans[side, height] = node
    trees.orphan_count[side] += 1
    trees.lowest[side] = min(trees.lowest[side], height)


@njit(cache=True, nogil=True, inline="always")
def _augment(meeting, arcs, balance, residual, trees):
    """Sends what fits along the path through an arc from the source tree to the sink tree."""
    tail, head = arcs.head[arcs.mate[meeting]], arcs.head[meeting]
    amount = residual[meeting]
    amount = _room(amount, SOURCE, tail, arcs, balance, residual, trees)
    amount = _room(amount, SINK, head, arcs, balance, residual, trees)
    residual[meeting] -= amount
    residual[arcs.mate[meeting]] += amount
    _send(amount, SOURCE, tail, arcs, balance, residual, trees)
    _send(amount, SINK, head, arcs, balance, residual, trees)


@njit(cache=True, nogil=True, inline="always")
def _room(amount, side, node, arcs, balance, residual, trees):
    """The least of amount and what fits between a node and its root."""
    while trees.parent[node] != ROOT:
        up = trees.parent[node]
        amount = min(amount, residual[up] if side else residual[arcs.mate[up]])
        node = arcs.head[up]
    return min(amount, abs(balance[node]))


@njit(cache=True, nogil=True, inline="always")
def _send(amount, side, node, arcs, balance, residual, trees):
    """Moves an amount between a node and its root."""
    while trees.parent[node] != ROOT:
        up = trees.parent[node]
        along = up if side else arcs.mate[up]
        residual[along] -= amount
        residual[arcs.mate[along]] += amount
        if residual[along] == 0:
            _orphan(node, side, trees)
        node = arcs.head[up]
    balance[node] += amount if side else -amount
    if balance[node] == 0:
        _orphan(node, side, trees)


@njit(cache=True, nogil=True, inline="always")
def _adopt(side, highest, arcs, residual, trees):
    """Finds every orphan of a tree a parent no higher than highest - 1, or frees it; from the roots upwards."""
    sign = 1 - 2 * side
    height = trees.lowest[side]
    trees.lowest[side] = trees.orphans.shape[1]
    adoptions = 0
    while trees.orphan_count[side] > 0:
        node = trees.orphans[side, height]
        if node == NOBODY:
            height += 1
            continue
        trees.orphans[side, height] = trees.next_orphan[node]
        trees.orphan_count[side] -= 1
        adoptions += 1
        best, parent = highest, NOBODY
        for a in range(arcs.start[node], arcs.start[node + 1]):
            other = trees.level[arcs.head[a]] * sign
            if 0 < other < best and residual[a if side else arcs.mate[a]] > 0:
                best, parent = other, a
                if other < height:
                    break
        trees.parent[node] = parent
        if best < height:
            continue
        for a in range(arcs.start[node], arcs.start[node + 1]):
            if trees.parent[arcs.head[a]] == arcs.mate[a]:
                _orphan(arcs.head[a], side, trees)
        if parent == NOBODY:
            trees.level[node] = FREE
        else:
            _rise(node, side, best + 1, trees)
    return adoptions
