"""Upper bounds by messages along the edges, improved one variable after the other; values that cannot win are removed.

An edge e = (i, j) hands m_i(a) to value a of i and m_j(b) to b of j, which leaves it with T(a, b) - m_i(a) - m_j(b).
With what it is handed, i has the field h_i(a). Nothing that is left, of an edge or of a field, is above zero: what was
above went into the constant. So the constant is a bound, and a value of i cannot lead above constant + h_i(a).

A sweep visits the variables in turn. Each takes from its edges what they can win at most with each of its values, and
the largest sum of these goes into the constant. Then it gives equal shares to the edges that lead on. All numbers
are int64 and all steps exact, so the bound holds to the last bit.

References:
    Kolmogorov (2006), Convergent tree-reweighted message passing for energy minimization.
    Kolmogorov (2015), A new look at reweighted message passing.
    Cooper, de Givry, Sanchez, Schiex, Zytnicki, Werner (2010), Soft arc consistency revisited.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....compiled import jit
from ....compiled.graphs import neighbour_lists
from ..whole_scores import WholeScores

IMPOSSIBLE = -(1 << 60)
"""What is less is no sum of allowed scores."""

FORBIDDEN_FIELD = 2 * IMPOSSIBLE
"""No field is lower, so that sums of some of them stay whole numbers of 64 bits."""

FARTHEST = 1 << 57
"""Of a message; one that would be larger is not sent."""


class Graph(NamedTuple):
    """Who is joined with whom, and by what scores.

    Attributes:
        starts: `[n + 1]`, the first neighbour of every variable.
        near: `[2 e]`, the neighbours.
        edge: `[2 e]`, the edges to them.
        side: `[2 e]`, which end of that edge the variable itself is.
        table_of: `[e]`, which table an edge has.
        tables: `[2, t, k, k]`, a row for each value of the first end, and of the second.
        weights: `[e]`, of equal values, in place of tables; or empty.
    """

    starts: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    side: np.ndarray
    table_of: np.ndarray
    tables: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, scores: WholeScores) -> Graph:
        """The graph of an instance."""
        parts = scores.tables
        n = len(scores.sizes)
        starts, near, edge = neighbour_lists(n, parts.pairs)
        side = (parts.pairs[edge, 0] != np.repeat(np.arange(n), np.diff(starts))).astype(np.int64)
        both = np.stack([parts.tables, np.ascontiguousarray(parts.tables.swapaxes(1, 2))])
        return cls(starts, near, edge, side, parts.table_of, both, parts.weights)


class Node(NamedTuple):
    """What is left of the problem somewhere in the search.

    Attributes:
        field: `[n, k]`, of the values that are left; none is above zero.
        message: `[e, 2, k]`, to the values of the first and of the second end.
        values: `[n, k]` int16, the values that are left, first.
        count: `[n]`, how many are.
        left: `[n, k]` uint8, whether a value is.
        done: `[n]` uint8, whether a variable has one value and its neighbours have all that comes of it.
    """

    field: np.ndarray
    message: np.ndarray
    values: np.ndarray
    count: np.ndarray
    left: np.ndarray
    done: np.ndarray


@jit.strict
def begin(unary, sizes, graph, node):
    """Sets the node of all allowed values; returns its constant."""
    n, k = unary.shape
    node.done[:] = 0
    node.left[:] = 0
    total = 0
    for i in range(n):
        count = 0
        best = np.int64(IMPOSSIBLE)
        for a in range(sizes[i]):
            if unary[i, a] > IMPOSSIBLE:
                node.values[i, count] = a
                node.left[i, a] = 1
                count += 1
                best = max(best, unary[i, a])
        node.count[i] = count
        total += best
        for a in range(k):
            node.field[i, a] = unary[i, a] - best
    for i in range(n):
        for place in range(graph.starts[i], graph.starts[i + 1]):
            if graph.side[place] == 0:
                total += _first_message(i, graph.near[place], graph.edge[place], graph, node)
    return total


@jit.strict_inner
def _first_message(i, j, e, graph, node):
    """Leaves an edge nothing above zero, and returns what its best pair had, if it has one."""
    best = np.int64(IMPOSSIBLE)
    node.message[e] = 0
    if len(graph.weights):
        best = max(0, graph.weights[e])
    else:
        table = graph.tables[0, graph.table_of[e]]
        for p in range(node.count[i]):
            for q in range(node.count[j]):
                best = max(best, table[node.values[i, p], node.values[j, q]])
    if best == IMPOSSIBLE:
        return best
    node.message[e, 0] = best
    return best


@jit.strict
def sweep(graph, node, forward, constant, cut, margin, scratch):
    """One visit to every variable of several values, in ascending or descending order.

    Args:
        graph: of all variables.
        node: which is changed.
        forward: whether in ascending order.
        constant: the bound.
        cut: values that lead to no more than it are removed.
        margin: `[n]`, set to how far the second best value of each variable is below the best one.
        scratch: `[k]`.

    Returns:
        The new constant, IMPOSSIBLE where no values are left; and the variable at which the bound fell to the cut, or -1.
    """
    n = len(node.count)
    for step in range(n):
        i = step if forward else n - 1 - step
        if node.done[i]:
            continue
        constant = visit(i, graph, node, forward, constant, cut, margin, scratch)
        if constant <= cut:
            return constant, i
    return constant, -1


@jit.strict_inner
def visit(i, graph, node, forward, constant, cut, margin, scratch):
    """Takes, removes values and gives; returns the new constant."""
    ahead, behind = _take(i, graph, node, forward, scratch)
    constant = normalise(i, node, constant, cut, margin)
    if constant <= cut:
        return constant
    if node.count[i] == 1:
        finish(i, graph, node)
    elif ahead:
        _give(i, graph, node, forward, ahead, max(ahead, behind))
    return constant


@jit.strict_inner
def normalise(i, node, constant, cut, margin):
    """Moves the largest field into the constant, and removes values that cannot lead above the cut."""
    best, second = np.int64(IMPOSSIBLE), np.int64(IMPOSSIBLE)
    count = node.count[i]
    for p in range(count):
        h = node.field[i, node.values[i, p]]
        second = max(second, min(best, h))
        best = max(best, h)
    if count == 0 or best <= IMPOSSIBLE:
        return np.int64(IMPOSSIBLE)
    margin[i] = best - second
    constant += best
    if constant <= cut:
        return constant
    kept = 0
    for p in range(count):
        a = node.values[i, p]
        h = node.field[i, a] - best
        if constant + h > cut:
            node.field[i, a] = h
            node.values[i, kept] = a
            kept += 1
        else:
            node.left[i, a] = 0
    node.count[i] = kept
    return constant


@jit.strict_inner
def finish(i, graph, node):
    """Hands what is left of the edges of a variable of one value to its neighbours."""
    a = node.values[i, 0]
    for place in range(graph.starts[i], graph.starts[i + 1]):
        j, e, side = graph.near[place], graph.edge[place], graph.side[place]
        if node.done[j]:
            continue
        mine = node.message[e, side, a]
        for q in range(node.count[j]):
            b = node.values[j, q]
            rest = _score(graph, e, side, a, b) - mine - node.message[e, 1 - side, b]
            node.field[j, b] = max(FORBIDDEN_FIELD, node.field[j, b] + rest)
    node.done[i] = 1


@jit.strict_inner
def _score(graph, e, side, a, b):
    if len(graph.weights):
        return graph.weights[e] if a == b else np.int64(0)
    return graph.tables[side, graph.table_of[e], a, b]


@jit.strict_inner
def _take(i, graph, node, forward, scratch):
    """Takes all from the edges; returns the numbers of edges ahead and behind."""
    ahead, behind = 0, 0
    for place in range(graph.starts[i], graph.starts[i + 1]):
        j, e, side = graph.near[place], graph.edge[place], graph.side[place]
        if node.done[j]:
            continue
        if len(graph.weights):
            far = _most_of_weight(i, j, graph.weights[e], node, node.message[e, 1 - side], scratch)
        else:
            far = _most_of_table(i, j, graph.tables[side, graph.table_of[e]], node, node.message[e, 1 - side], scratch)
        if far > FARTHEST:
            continue
        message = node.message[e, side]
        for p in range(node.count[i]):
            a = node.values[i, p]
            if scratch[a] <= IMPOSSIBLE:
                node.field[i, a] = FORBIDDEN_FIELD
            else:
                node.field[i, a] = max(FORBIDDEN_FIELD, node.field[i, a] + scratch[a] - message[a])
                message[a] = scratch[a]
        on = (j > i) == forward
        ahead, behind = ahead + on, behind + (not on)
    return ahead, behind


@jit.strict_inner
def _most_of_table(i, j, table, node, other, most):
    """Sets `most [k]` to what each value of i wins at most from an edge; returns the largest magnitude."""
    far = 0
    all_left = node.count[j] == len(other)
    for p in range(node.count[i]):
        a = node.values[i, p]
        best = np.int64(FORBIDDEN_FIELD)
        row = table[a]
        if all_left:
            for b in range(len(other)):
                best = max(best, row[b] - other[b])
        else:
            for q in range(node.count[j]):
                b = node.values[j, q]
                best = max(best, row[b] - other[b])
        most[a] = best
        if best > IMPOSSIBLE:
            far = max(far, abs(best))
    return far


@jit.strict_inner
def _most_of_weight(i, j, weight, node, other, most):
    """As `_most_of_table`, where equal values score `weight` and others nothing."""
    first, second, where = np.int64(FORBIDDEN_FIELD), np.int64(FORBIDDEN_FIELD), -1
    for q in range(node.count[j]):
        b = node.values[j, q]
        if -other[b] > first:
            first, second, where = -other[b], first, b
        else:
            second = max(second, -other[b])
    far = 0
    for p in range(node.count[i]):
        a = node.values[i, p]
        best = second if a == where else first
        if node.left[j, a]:
            best = max(best, weight - other[a])
        most[a] = best
        if best > IMPOSSIBLE:
            far = max(far, abs(best))
    return far


@jit.strict_inner
def _give(i, graph, node, forward, ahead, parts):
    """Gives a share, one of `parts`, to each edge ahead; rounded towards zero, so that nothing comes above it."""
    for p in range(node.count[i]):
        a = node.values[i, p]
        share = -(-node.field[i, a] // parts)
        if share == 0:
            continue
        node.field[i, a] -= ahead * share
        for place in range(graph.starts[i], graph.starts[i + 1]):
            j = graph.near[place]
            if not node.done[j] and (j > i) == forward:
                node.message[graph.edge[place], graph.side[place], a] -= share
