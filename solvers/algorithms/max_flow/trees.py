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

from ...compiled import jit

ROOT = np.uint32(2**32 - 1)
NOBODY = np.uint32(2**32 - 2)
FREE = 0
UNFINISHED = -1
SOURCE, SINK = 0, 1


class Trees(NamedTuple):
    """Scratch of `grow_trees` beside what is in the nodes; index 0 is the source tree and 1 the sink tree.

    Attributes:
        growing: `[2]`, the height of each tree whose nodes look for children next.
        front: `[2, 2, n]`, the nodes of that height and of the one above it, by parity of the height.
        front_size: `[2, 2]`.
        orphans: `[2, n + 2]`, the first orphan of each height, or NOBODY; no one between calls.
        orphan_count: `[2]`.
        lowest: `[2]`, no orphan is lower.
    """

    growing: np.ndarray
    front: np.ndarray
    front_size: np.ndarray
    orphans: np.ndarray
    orphan_count: np.ndarray
    lowest: np.ndarray


@jit.strict
def new_trees(n):
    """Scratch for graphs of n nodes."""
    return Trees(
        np.empty(2, np.int64),
        np.empty((2, 2, n), np.uint32),
        np.empty((2, 2), np.int64),
        np.full((2, n + 2), NOBODY, np.uint32),
        np.empty(2, np.int64),
        np.empty(2, np.int64),
    )


@jit.borrowing
def grow_trees(nodes, arcs, trees, first, last, most_steps, stop):
    """Augments until a tree cannot grow, which is then one side of a minimum cut.

    Returns SOURCE or SINK, the tree that is complete, or UNFINISHED after most_steps along paths and over
    arcs of orphans, or once stop [1] is set; balances and residuals are consistent then too. Only the nodes
    first .. last - 1 take part: the others must be FREE and have NOBODY for a parent.
    """
    _plant(nodes, trees, first, last)
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
            if nodes[node].level != level:
                continue
            for a in range(nodes[node].start, nodes[node + 1].start):
                other = arcs[a].head
                forward = arcs[a].mate if side else a
                while arcs[forward].residual > 0 and nodes[other].level * level < 0:
                    steps += abs(level - nodes[other].level)
                    _augment(forward, nodes, arcs, trees)
                    steps += _adopt(SOURCE, trees.growing[0] + (side == 0), nodes, arcs, trees)
                    steps += _adopt(SINK, trees.growing[1] + (side == 1), nodes, arcs, trees)
                    if nodes[node].level != level or steps > most_steps:
                        break
                if nodes[node].level != level or steps > most_steps:
                    break
                if arcs[forward].residual > 0 and nodes[other].level == FREE and first <= other < last:
                    nodes[other].parent = arcs[a].mate
                    _rise(other, side, trees.growing[side] + 1, nodes, trees)
            if steps > most_steps or stop[0]:
                return UNFINISHED
        trees.front_size[side, parity] = 0
        trees.growing[side] += 1


@jit.borrowing
def _plant(nodes, trees, first, last):
    """Makes every node with a balance a root."""
    trees.growing[:] = 1
    trees.front_size[:] = 0
    trees.orphan_count[:] = 0
    trees.lowest[:] = 1
    for i in range(first, last):
        nodes[i].parent = ROOT
        nodes[i].level = FREE
        nodes[i].in_front = FREE
        if nodes[i].balance != 0:
            _rise(i, np.int64(nodes[i].balance < 0), 1, nodes, trees)


@jit.inlined
def _front_size(trees, side):
    return trees.front_size[side, trees.growing[side] & 1]


@jit.inlined
def _rise(node, side, height, nodes, trees):
    """Puts a node at a height of a tree, and into the front if it has still to look for children there."""
    level = height if side == SOURCE else -height
    nodes[node].level = level
    if height >= trees.growing[side] and nodes[node].in_front != level:
        nodes[node].in_front = level
        parity = height & 1
        trees.front[side, parity, trees.front_size[side, parity]] = node
        trees.front_size[side, parity] += 1


@jit.inlined
def _orphan(node, side, nodes, trees):
    height = abs(nodes[node].level)
    nodes[node].parent = NOBODY
    nodes[node].next_orphan = trees.orphans[side, height]
    trees.orphans[side, height] = node
    trees.orphan_count[side] += 1
    trees.lowest[side] = min(trees.lowest[side], height)


@jit.inlined
def _augment(meeting, nodes, arcs, trees):
    """Sends what fits along the path through an arc from the source tree to the sink tree."""
    tail, head = arcs[arcs[meeting].mate].head, arcs[meeting].head
    amount = arcs[meeting].residual
    amount = _room(amount, SOURCE, tail, nodes, arcs, trees)
    amount = _room(amount, SINK, head, nodes, arcs, trees)
    arcs[meeting].residual -= amount
    arcs[arcs[meeting].mate].residual += amount
    _send(amount, SOURCE, tail, nodes, arcs, trees)
    _send(amount, SINK, head, nodes, arcs, trees)


@jit.inlined
def _room(amount, side, node, nodes, arcs, trees):
    """The least of amount and what fits between a node and its root."""
    while nodes[node].parent != ROOT:
        up = nodes[node].parent
        amount = min(amount, arcs[up].residual if side else arcs[arcs[up].mate].residual)
        node = arcs[up].head
    return min(amount, abs(nodes[node].balance))


@jit.inlined
def _send(amount, side, node, nodes, arcs, trees):
    """Moves an amount between a node and its root."""
    while nodes[node].parent != ROOT:
        up = nodes[node].parent
        along = up if side else arcs[up].mate
        arcs[along].residual -= amount
        arcs[arcs[along].mate].residual += amount
        if arcs[along].residual == 0:
            _orphan(node, side, nodes, trees)
        node = arcs[up].head
    nodes[node].balance += amount if side else -amount
    if nodes[node].balance == 0:
        _orphan(node, side, nodes, trees)


@jit.inlined
def _adopt(side, highest, nodes, arcs, trees):
    """Finds every orphan of a tree a parent no higher than highest - 1, or frees it; from the roots upwards.

    Returns how many arcs the orphans have.
    """
    sign = 1 - 2 * side
    height = trees.lowest[side]
    trees.lowest[side] = trees.orphans.shape[1]
    steps = 0
    while trees.orphan_count[side] > 0:
        node = trees.orphans[side, height]
        if node == NOBODY:
            height += 1
            continue
        trees.orphans[side, height] = nodes[node].next_orphan
        trees.orphan_count[side] -= 1
        steps += nodes[node + 1].start - nodes[node].start
        best, parent = highest, NOBODY
        for a in range(nodes[node].start, nodes[node + 1].start):
            other = nodes[arcs[a].head].level * sign
            if 0 < other < best and arcs[a if side else arcs[a].mate].residual > 0:
                best, parent = other, a
                if other < height:
                    break
        nodes[node].parent = parent
        if best < height:
            continue
        for a in range(nodes[node].start, nodes[node + 1].start):
            if nodes[arcs[a].head].parent == arcs[a].mate:
                _orphan(arcs[a].head, side, nodes, trees)
        if parent == NOBODY:
            nodes[node].level = FREE
        else:
            _rise(node, side, best + 1, nodes, trees)
    return steps
