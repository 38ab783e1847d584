"""The separators of an elimination order, and the forest that they form.

The separator of a variable are the variables that it shares a term or a message with when it is eliminated; its
parent is the one of them that is eliminated first. The separator of a child has no variables but its parent and
those of its parent's separator. Variables are numbered here by their places in the order.
"""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from ...compiled.graphs import neighbour_lists


@jit.strict
def separators(n, edges):
    """The separators of the order 0, 1, ... n - 1.

    Args:
        n: number of variables.
        edges: `[e, 2]`, distinct pairs.

    Returns:
        `[n + 1]`, the start of every separator; their variables, each in descending order, so that the parent
        comes last; and `[n]`, the parent, or -1.
    """
    listed, near, _ = neighbour_lists(n, edges)
    starts, parent = np.zeros(n + 1, np.int64), np.full(n, -1)
    found = np.empty(2 * len(edges) + n, np.int64)
    seen = np.full(n, -1)
    child, sibling = np.full(n, -1), np.full(n, -1)  # the latest child of every variable, the next latest
    for v in range(n):
        end = starts[v]
        if len(found) < end + n:
            found = np.concatenate((found, np.empty(len(found) + n, np.int64)))
        seen[v] = v
        for u in near[listed[v] : listed[v + 1]]:
            if u > v and seen[u] < v:
                seen[u], found[end] = v, u
                end += 1
        c = child[v]
        while c >= 0:
            for k in range(starts[c], starts[c + 1]):
                u = found[k]
                if seen[u] < v:
                    seen[u], found[end] = v, u
                    end += 1
            c = sibling[c]
        starts[v + 1] = end
        if end > starts[v]:
            found[starts[v] : end] = -np.sort(-found[starts[v] : end])
            parent[v] = found[end - 1]
            sibling[v], child[parent[v]] = child[parent[v]], v
    return starts, found[: starts[n]], parent


@jit.strict
def children_first(starts, parent):
    """An order of all steps in which the subtree of every one comes right before it, wide children first.

    Args:
        starts: `[n + 1]`, of the separators.
        parent: `[n]`, or -1.

    Returns:
        `[n]`, the variables step by step.
    """
    n = len(parent)
    first, child = _lists_of(parent)
    sequence, stack = np.empty(n, np.int64), np.empty(n, np.int64)
    top = 0
    for v in range(n):
        if parent[v] < 0:
            stack[top] = v
            top += 1
    # Parents first, filled in from behind; a stack, as trees are deeper than any recursion.
    for step in range(n - 1, -1, -1):
        top -= 1
        v = stack[top]
        sequence[step] = v
        here = top
        for c in child[first[v] : first[v + 1]]:
            size, place = starts[c + 1] - starts[c], top
            while place > here and starts[stack[place - 1] + 1] - starts[stack[place - 1]] < size:
                stack[place] = stack[place - 1]
                place -= 1
            stack[place] = c
            top += 1
    return sequence


@jit.strict
def _lists_of(parent):
    """The start `[n + 1]` of every list of children, and all children, ascending."""
    n = len(parent)
    first = np.zeros(n + 1, np.int64)
    for v in range(n):
        if parent[v] >= 0:
            first[parent[v] + 1] += 1
    first = np.cumsum(first)
    end, child = first.copy(), np.empty(first[n], np.int64)
    for v in range(n):
        if parent[v] >= 0:
            child[end[parent[v]]] = v
            end[parent[v]] += 1
    return first, child
