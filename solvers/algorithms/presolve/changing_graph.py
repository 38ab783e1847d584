"""A weighted graph whose edges move, merge and vanish, in linked lists, for compiled kernels.

Edge k has two arcs: 2 k lies in the list of its first end, 2 k + 1 in that of its second. Each knows the other end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit

NONE = -1


class ChangingGraph(NamedTuple):
    """Edges by node.

    Attributes:
        first: `[nodes]`, an arc of each, or NONE.
        degree: `[nodes]`, how many there are.
        strength: `[nodes]`, their sum of |weight|.
        head: `[2 e]`, where an arc leads.
        after: `[2 e]`, the next arc of the same node, or NONE.
        before: `[2 e]`, the one before, or NONE.
        weight: `[e]`.
    """

    first: np.ndarray
    degree: np.ndarray
    strength: np.ndarray
    head: np.ndarray
    after: np.ndarray
    before: np.ndarray
    weight: np.ndarray


@jit.strict
def changing_graph(nodes, edges, weight):
    """The graph of distinct `edges [e, 2]` with the weights `[e]`."""
    arcs = 2 * len(edges)
    graph = ChangingGraph(
        np.full(nodes, NONE),
        np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64),
        np.empty(arcs, np.int64),
        np.empty(arcs, np.int64),
        np.empty(arcs, np.int64),
        np.empty(len(edges), np.int64),
    )
    for k in range(len(edges)):
        attach(graph, k, edges[k, 0], edges[k, 1], weight[k])
    return graph


@jit.strict
def attach(graph, k, i, j, weight):
    """Makes the unused edge k one from i to j."""
    graph.weight[k] = weight
    for side in range(2):
        arc, here, there = 2 * k + side, (i, j)[side], (j, i)[side]
        graph.head[arc], graph.before[arc], graph.after[arc] = there, NONE, graph.first[here]
        if graph.first[here] != NONE:
            graph.before[graph.first[here]] = arc
        graph.first[here] = arc
        graph.degree[here] += 1
        graph.strength[here] += abs(weight)


@jit.strict
def detach(graph, k):
    """Takes edge k out, which is unused then."""
    for side in range(2):
        arc = 2 * k + side
        here, before, after = graph.head[arc ^ 1], graph.before[arc], graph.after[arc]
        if before == NONE:
            graph.first[here] = after
        else:
            graph.after[before] = after
        if after != NONE:
            graph.before[after] = before
        graph.degree[here] -= 1
        graph.strength[here] -= abs(graph.weight[k])


@jit.strict
def edge_between(graph, i, j):
    """The edge that joins i with j, or NONE."""
    if graph.degree[i] > graph.degree[j]:
        i, j = j, i
    arc = graph.first[i]
    while arc != NONE and graph.head[arc] != j:
        arc = graph.after[arc]
    return arc if arc == NONE else arc // 2


@jit.strict
def weight_between(graph, i, j):
    """The weight of the edge that joins i with j; 0 if there is none."""
    k = edge_between(graph, i, j)
    return np.int64(0) if k == NONE else graph.weight[k]


@jit.strict
def add(graph, unused, i, j, weight):
    """Adds to the weight between i and j, with the unused edge where there was none; what adds up to 0 vanishes."""
    k = edge_between(graph, i, j)
    if k != NONE:
        weight += graph.weight[k]
        detach(graph, k)
    else:
        k = unused
    if weight != 0:
        attach(graph, k, i, j, weight)
