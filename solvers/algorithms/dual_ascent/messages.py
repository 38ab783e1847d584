"""Upper bounds of a pairwise problem by messages along its edges, improved one variable after the other.

Every edge e = (i, j) hands an amount m_i of score to i and m_j to j. That leaves it with
w z_i z_j - m_i z_i - m_j z_j, and gives variable i the field h_i = unary_i + sum of m_i. The score of z is the sum of
all of these, so

    bound = constant + sum_i max(0, h_i) + sum_e max(0, -m_i, -m_j, w - m_i - m_j).

A sweep visits the variables in turn. Each takes from its edges what they could win by it, so that they no longer care
about it: then the bound with the other value of i is |h_i| lower. Then it gives equal shares to the edges that lead
on, which leaves the bound as it is. All numbers are int64 and all steps exact, so the bound holds to the last bit.

References:
    Wainwright, Jaakkola, Willsky (2005), MAP estimation via agreement on trees: message-passing and linear
    programming.
    Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit

FREE = -1


class Graph(NamedTuple):
    """Who is joined with whom, and how strongly.

    Attributes:
        starts: `[n + 1]`, the first neighbour of every variable.
        near: `[2 e]`, the neighbours.
        edge: `[2 e]`, the edges to them.
        side: `[2 e]`, which end of that edge the variable itself is.
        pairwise: `[e]`, integer scores.
    """

    starts: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    side: np.ndarray
    pairwise: np.ndarray


@jit.strict
def fix(i, value, graph, state, field, message):
    """Sets a free variable; returns by how much the constant and the bound change."""
    unary, change = field[i], -max(0, field[i])
    for k in range(graph.starts[i], graph.starts[i + 1]):
        j, e, side = graph.near[k], graph.edge[k], graph.side[k]
        if state[j] == FREE:
            mine, other = message[e, side], message[e, 1 - side]
            unary -= mine
            before = field[j]
            field[j] += graph.pairwise[e] * value - other
            change += max(0, field[j]) - max(0, before) - _peak(graph.pairwise[e], mine, other)
    state[i] = value
    return unary * value, change + unary * value


@jit.strict
def sweep(graph, state, field, message, forward, constant, bound, known):
    """One visit to every free variable, in ascending order or in descending order.

    Variables whose other value cannot lead above `known` are fixed. Ends early once nothing can.

    Args:
        graph: of all variables.
        state: `[n]`, 0, 1 or FREE.
        field: `[n]`, of the free variables.
        message: `[e, 2]`, of the edges between them, to the first and to the second end.
        forward: whether in ascending order.
        constant: score of the fixed variables.
        bound: on all scores from here.
        known: a score that somebody has.

    Returns:
        The new constant and bound.
    """
    n = len(state)
    for step in range(n):
        i = step if forward else n - 1 - step
        if state[i] != FREE:
            continue
        change, ahead, behind = _take(i, graph, state, field, message, forward)
        bound += change
        if bound - abs(field[i]) <= known:
            gained, change = fix(i, np.int64(field[i] > 0), graph, state, field, message)
            constant += gained
            bound += change
        elif ahead:
            _give(i, graph, state, field, message, forward, ahead, max(ahead, behind))
        if bound <= known:
            break
    return constant, bound


@jit.strict_inner
def field_of(i, graph, state, field, message):
    """What the field of a free variable is once it took all from its edges, and its free edges' sum of |scores|."""
    total, strength = field[i], 0
    for k in range(graph.starts[i], graph.starts[i + 1]):
        e, side = graph.edge[k], graph.side[k]
        if state[graph.near[k]] == FREE:
            total += _gain(graph.pairwise[e], message[e, 1 - side]) - message[e, side]
            strength += abs(graph.pairwise[e])
    return total, strength


@jit.strict_inner
def _take(i, graph, state, field, message, forward):
    """Takes all from the edges; returns the change of the bound and the numbers of edges ahead and behind."""
    total, change, ahead, behind = field[i], -max(0, field[i]), 0, 0
    for k in range(graph.starts[i], graph.starts[i + 1]):
        j, e, side = graph.near[k], graph.edge[k], graph.side[k]
        if state[j] == FREE:
            mine, other = message[e, side], message[e, 1 - side]
            taken = _gain(graph.pairwise[e], other)
            change += max(0, -other) - _peak(graph.pairwise[e], mine, other)
            total += taken - mine
            message[e, side] = taken
            on = (j > i) == forward
            ahead, behind = ahead + on, behind + (not on)
    field[i] = total
    return change + max(0, total), ahead, behind


@jit.strict_inner
def _give(i, graph, state, field, message, forward, ahead, parts):
    """Gives a share, one of `parts`, to each edge ahead; rounded towards zero, so that none has the other sign."""
    share = abs(field[i]) // parts
    share = share if field[i] > 0 else -share
    for k in range(graph.starts[i], graph.starts[i + 1]):
        j = graph.near[k]
        if state[j] == FREE and (j > i) == forward:
            message[graph.edge[k], graph.side[k]] -= share
    field[i] -= ahead * share


@jit.strict_inner
def _gain(weight, other):
    """What an edge wins at most by its end being 1, when the other end costs it `other`."""
    return max(0, weight - other) - max(0, -other)


@jit.strict_inner
def _peak(weight, mine, other):
    return max(max(0, -mine), max(-other, weight - mine - other))
