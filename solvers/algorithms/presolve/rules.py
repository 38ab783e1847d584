"""Nodes of a spin graph that are taken out, one after the other, until no rule finds another one.

Every rule keeps the maximum: some maximiser of the larger graph is had from any of the smaller one, by giving the node
that went the sign of the sum of weight times spin over what the log notes of it.

- `degree_1`, `degree_2`, `dominated`: an edge weighs as much as all others at a node, which then follows its other end.
- `degree_3`: max over s of s (a s_1 + b s_2 + c s_3) is a constant and three edges, as no flip of all three changes it.
- `pair`, `twin`: see `pair_rules`.

In a problem with fields a variable of degree d has d + 1 neighbours here, the node beside the variables among them. So
`dominated` has the variables that the signs of their scores decide, and `degree_3` those of degree 2.

References:
    Liers, Martin, Pape (2016), Structural backdoors of Ising problems: reductions of nodes of degree up to 3.
    Lange, Andres, Swoboda (2019), Combinatorial persistency criteria for multicut and max-cut.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit
from .changing_graph import NONE, add, changing_graph, detach
from .pair_rules import MOST_NEIGHBOURS, neighbour_that_decides, twin_of
from .worklist import pop, push, worklist

RULES = ("isolated", "degree_1", "degree_2", "degree_3", "dominated", "pair", "twin")
"""By number: the first four by how many neighbours a node has."""

DEGREE_3, DOMINATED, PAIR, TWIN = 3, 4, 5, 6

HUB = 64
"""Nodes of more neighbours are looked at again when they have lost half of them, or paths to hubs would take long."""


class Log(NamedTuple):
    """What was taken out, in order: s_node = sign of sum_k weight_k s_near_k.

    Attributes:
        node: `[nodes]`.
        near: `[nodes, 3]`, where the weight is not 0.
        weight: `[nodes, 3]`.
        counts: `[rules]`, how many nodes each rule took out.
        constant: `[1]`, by how much the sums over the edges are smaller now.
    """

    node: np.ndarray
    near: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    constant: np.ndarray


@jit.strict
def shrink(nodes, edges, weight, allowed, stop):
    """Takes out nodes by the rules that are allowed, `[rules]`, until none is left that one takes or `stop[0]`.

    Returns:
        The log; the edges that are left `[k, 2]` and their weights `[k]`.
    """
    graph = changing_graph(nodes, edges, weight)
    log = Log(
        np.empty(nodes, np.int64),
        np.zeros((nodes, 3), np.int64),
        np.zeros((nodes, 3), np.int64),
        np.zeros(len(allowed), np.int64),
        np.zeros(1, np.int64),
    )
    gone, looked_at = np.zeros(nodes, np.bool_), np.full(nodes, 4 * nodes)
    simple, costly = worklist(nodes, True), worklist(nodes, False)
    while not stop[0] and (simple.span[1] or costly.span[1]):
        if simple.span[1]:
            u = pop(simple)
            if gone[u] or (graph.degree[u] > HUB and 2 * graph.degree[u] > looked_at[u]):
                continue
            looked_at[u] = graph.degree[u]
            rule, v, sign = _by_degree(graph, u, allowed)
            if rule == NONE:
                push(costly, u)
        else:
            u = pop(costly)
            if gone[u]:
                continue
            rule, v, sign = _by_trial(graph, u, allowed)
        if rule != NONE:
            gone[u] = True
            _note(log, graph, u, v, sign, rule)
            _wake(graph, u, simple, costly)
            if v == NONE:
                _take_out(graph, u, log)
            else:
                push(simple, v)
                _contract(graph, u, v, sign, log)
    return _trimmed(log), *_edges_left(graph)


@jit.strict
def _by_degree(graph, u, allowed):
    """(rule, neighbour to follow or NONE, sign) for a node that one look at its edges takes out; NONE first if none."""
    d, strongest = graph.degree[u], graph.first[u]
    if d == 0:
        return (0 if allowed[0] else NONE), NONE, 0
    arc = strongest
    while arc != NONE:
        if abs(graph.weight[arc // 2]) > abs(graph.weight[strongest // 2]):
            strongest = arc
        arc = graph.after[arc]
    weight = graph.weight[strongest // 2]
    rule = d if d <= 2 else DOMINATED
    if allowed[rule] and 2 * abs(weight) >= graph.strength[u]:
        return rule, graph.head[strongest], (1 if weight > 0 else -1)
    if d == 3 and allowed[DEGREE_3]:
        return DEGREE_3, NONE, 0
    return NONE, NONE, 0


@jit.strict
def _by_trial(graph, u, allowed):
    """As `_by_degree`, by the rules that try all values of the neighbours."""
    if graph.degree[u] > MOST_NEIGHBOURS or graph.degree[u] == 0:
        return NONE, NONE, 0
    if allowed[PAIR]:
        v, sign = neighbour_that_decides(graph, u)
        if v != NONE:
            return PAIR, v, sign
    if allowed[TWIN] and graph.degree[u] < MOST_NEIGHBOURS:
        v, sign = twin_of(graph, u)
        if v != NONE:
            return TWIN, v, sign
    return NONE, NONE, 0


@jit.strict
def _note(log, graph, u, v, sign, rule):
    """Writes what s_u follows from, before the graph changes."""
    row = log.counts.sum()
    log.counts[rule] += 1
    log.node[row] = u
    if v != NONE:
        log.near[row, 0], log.weight[row, 0] = v, sign
        return
    arc = graph.first[u]
    for k in range(graph.degree[u]):
        log.near[row, k], log.weight[row, k] = graph.head[arc], graph.weight[arc // 2]
        arc = graph.after[arc]


@jit.strict
def _wake(graph, u, simple, costly):
    """Rules may find something new at the neighbours of u and, if these have few, at theirs."""
    arc = graph.first[u]
    while arc != NONE:
        v = graph.head[arc]
        push(simple, v)
        if graph.degree[v] <= MOST_NEIGHBOURS:
            further = graph.first[v]
            while further != NONE:
                push(costly, graph.head[further])
                further = graph.after[further]
        arc = graph.after[arc]


@jit.strict
def _contract(graph, u, v, sign, log):
    """Makes u a part of v: s_u = sign s_v."""
    arc = graph.first[u]
    while arc != NONE:
        w, k, following = graph.head[arc], arc // 2, graph.after[arc]
        detach(graph, k)
        if w == v:
            log.constant[0] += sign * graph.weight[k]
        else:
            add(graph, k, v, w, sign * graph.weight[k])
        arc = following


@jit.strict
def _take_out(graph, u, log):
    """Replaces a node of no edge, or of three by the triangle of their ends."""
    if graph.degree[u] == 0:
        return
    one = graph.first[u]
    two = graph.after[one]
    three = graph.after[two]
    ends = graph.head[one], graph.head[two], graph.head[three]
    slots = one // 2, two // 2, three // 2
    a, b, c = graph.weight[slots[0]], graph.weight[slots[1]], graph.weight[slots[2]]
    all_, but_c, but_b, but_a = abs(a + b + c), abs(a + b - c), abs(a - b + c), abs(b + c - a)
    for k in slots:
        detach(graph, k)
    # Whole numbers, as the weights at u add up to an even one.
    log.constant[0] += (all_ + but_c + but_b + but_a) // 4
    add(graph, slots[0], ends[0], ends[1], (all_ + but_c - but_b - but_a) // 4)
    add(graph, slots[1], ends[0], ends[2], (all_ - but_c + but_b - but_a) // 4)
    add(graph, slots[2], ends[1], ends[2], (all_ - but_c - but_b + but_a) // 4)


@jit.strict
def _trimmed(log):
    rows = log.counts.sum()
    return Log(log.node[:rows], log.near[:rows], log.weight[:rows], log.counts, log.constant)


@jit.strict
def _edges_left(graph):
    """Each edge once."""
    edges, weight = np.empty((len(graph.weight), 2), np.int64), np.empty(len(graph.weight), np.int64)
    count = 0
    for i in range(len(graph.first)):
        arc = graph.first[i]
        while arc != NONE:
            if graph.head[arc] > i:
                edges[count, 0], edges[count, 1] = i, graph.head[arc]
                weight[count] = graph.weight[arc // 2]
                count += 1
            arc = graph.after[arc]
    return edges[:count], weight[:count]


@jit.strict
def restore(log, spins):
    """Gives the nodes of the log their spins, the last one first; `spins [nodes]` has those that were left."""
    for row in range(len(log.node) - 1, -1, -1):
        total = 0
        for k in range(3):
            total += log.weight[row, k] * spins[log.near[row, k]]
        spins[log.node[row]] = 1 if total >= 0 else -1
