"""Labels from messages, and single changes that make labels better."""

from __future__ import annotations

import numpy as np

from ....compiled import jit
from .messages import FORBIDDEN_FIELD, IMPOSSIBLE, score


@jit.strict
def decode(graph, node, forward, labels, scratch):
    """Sets labels one variable after the other: the best value given those that have one.

    Args:
        graph: of all variables.
        node: whose fields and messages speak for the others.
        forward: the direction of the last sweep; labels are set in the other one.
        labels: `[n]`.
        scratch: `[k]`.
    """
    n = len(labels)
    for step in range(n):
        i = n - 1 - step if forward else step
        for p in range(node.left[i]):
            scratch[p] = node.field[i, node.values[i, p]]
        if node.left[i] > 1:
            for place in range(graph.starts[i], graph.starts[i + 1]):
                j, e, side = graph.near[place], graph.edge[place], graph.side[place]
                if node.done[j] or (j > i) != forward:
                    continue
                b = labels[j]
                for p in range(node.left[i]):
                    a = node.values[i, p]
                    won = (
                        score(graph, e, side, a, b) - node.message[e, side, a] - node.message[e, 1 - side, b]
                    )
                    scratch[p] = max(FORBIDDEN_FIELD, scratch[p] + won)
        best = 0
        for p in range(1, node.left[i]):
            if scratch[p] > scratch[best]:
                best = p
        labels[i] = node.values[i, best]


@jit.strict
def score_of(unary, graph, labels):
    """The score of labels `[n]`; FORBIDDEN_FIELD where they are forbidden."""
    total = np.int64(0)
    for i in range(len(labels)):
        if unary[i, labels[i]] <= IMPOSSIBLE:
            return np.int64(FORBIDDEN_FIELD)
        total += unary[i, labels[i]]
        for place in range(graph.starts[i], graph.starts[i + 1]):
            if graph.side[place] == 0:
                more = score(graph, graph.edge[place], 0, labels[i], labels[graph.near[place]])
                if more <= IMPOSSIBLE:
                    return np.int64(FORBIDDEN_FIELD)
                total += more
    return total


@jit.strict
def ascend(unary, graph, sizes, labels, rounds, scratch, stop):
    """Gives variables better values, given the others, until none gains, in some rounds at most."""
    for _ in range(rounds):
        changed = False
        for i in range(len(labels)):
            if stop[0]:
                return
            changed |= _better(i, unary, graph, sizes, labels, scratch)
        if not changed:
            return


@jit.strict_inner
def _better(i, unary, graph, sizes, labels, scratch):
    """Gives a variable its best value; returns whether that gains."""
    for a in range(sizes[i]):
        scratch[a] = unary[i, a]
    for place in range(graph.starts[i], graph.starts[i + 1]):
        e, side, b = graph.edge[place], graph.side[place], labels[graph.near[place]]
        if len(graph.weights):
            if b < sizes[i]:
                scratch[b] += graph.weights[e]
            continue
        table = graph.tables[1 - side, graph.table_of[e]]
        for a in range(sizes[i]):
            scratch[a] = max(FORBIDDEN_FIELD, scratch[a] + table[b, a])
    best = labels[i]
    for a in range(sizes[i]):
        if scratch[a] > scratch[best]:
            best = a
    gains = best != labels[i]
    labels[i] = best
    return gains
