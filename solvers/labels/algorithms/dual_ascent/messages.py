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
from ....compiled.graphs import neighbour_lists, sides_of
from ..whole_scores import WholeScores

IMPOSSIBLE = -(1 << 60)
"""What is less is no sum of allowed scores."""

FORBIDDEN_FIELD = 2 * IMPOSSIBLE
"""No field is lower, so that sums of some of them stay whole numbers of 64 bits."""

FARTHEST = 1 << 57
"""Of a message; one that would be larger is not sent."""

GONE = 1 << 61
"""The message to a value that is not left: nothing is won with it."""

FEW = 3
"""Values that are left are looked at one by one where they are fewer than one in so many, else in whole vectors."""


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
        side = sides_of(starts, edge, parts.pairs)
        both = np.stack([parts.tables, np.ascontiguousarray(parts.tables.swapaxes(1, 2))])
        return cls(starts, near, edge, side, parts.table_of, both, parts.weights)


class Node(NamedTuple):
    """What is left of the problem somewhere in the search.

    Attributes:
        field: `[n, k]`, of the values that are left; none is above zero.
        message: `[e, 2, k]`, to the values of the first and of the second end; GONE to those that are not left.
        values: `[n, k]` uint16, the values that are left, first, in ascending order.
        left: `[n]`, how many are.
        done: `[n]` uint8, whether a variable has one value and its neighbours have all that comes of it.
    """

    field: np.ndarray
    message: np.ndarray
    values: np.ndarray
    left: np.ndarray
    done: np.ndarray


@jit.strict
def begin(unary, sizes, graph, node):
    """Sets the node of all allowed values; returns its constant."""
    n = len(unary)
    node.done[:] = 0
    node.message[:] = GONE
    total = 0
    for i in range(n):
        count, best = 0, np.int64(FORBIDDEN_FIELD)
        for a in range(sizes[i]):
            if unary[i, a] > IMPOSSIBLE:
                node.values[i, count] = a
                count += 1
                best = max(best, unary[i, a])
        node.left[i] = count
        node.field[i] = unary[i] - best
        total += best
    for i in range(n):
        for place in range(graph.starts[i], graph.starts[i + 1]):
            if graph.side[place] == 0:
                total += _first_messages(i, graph.near[place], graph.edge[place], graph, node)
    return total


@jit.strict_inner
def _first_messages(i, j, e, graph, node):
    """Leaves an edge nothing above zero; returns what its best pair had at most, or 0 if all pairs are forbidden."""
    best = np.int64(FORBIDDEN_FIELD)
    if len(graph.weights):
        best = max(np.int64(0), graph.weights[e])
    else:
        for p in range(node.left[i]):
            for q in range(node.left[j]):
                best = max(best, score(graph, e, 0, node.values[i, p], node.values[j, q]))
    best = best if best > IMPOSSIBLE else np.int64(0)
    for p in range(node.left[i]):
        node.message[e, 0, node.values[i, p]] = best
    for q in range(node.left[j]):
        node.message[e, 1, node.values[j, q]] = 0
    return best


@jit.strict
def sweep(graph, node, forward, constant, cut, scratch, stop):
    """One visit to every variable of several values, in ascending or descending order.

    Args:
        graph: of all variables.
        node: which is changed.
        forward: whether in ascending order.
        constant: the bound.
        cut: values that lead to no more than it are removed.
        scratch: `[k]`.
        stop: `[1]` uint8; the sweep ends once it is set.

    Returns:
        The new constant; and the variable at which it fell to the cut, or -1.
    """
    n = len(node.left)
    for step in range(n):
        i = step if forward else n - 1 - step
        if node.done[i]:
            continue
        if stop[0]:
            break
        constant = _visit(i, graph, node, forward, constant, cut, scratch)
        if constant <= cut:
            return constant, i
    return constant, -1


@jit.strict_inner
def keep(i, first, last, graph, node):
    """Removes all values of a variable but those at the places first .. last - 1 of its list."""
    kept = 0
    for p in range(node.left[i]):
        a = node.values[i, p]
        if first <= p < last:
            node.values[i, kept] = a
            kept += 1
        else:
            _forget(i, a, graph, node)
    node.left[i] = kept


@jit.strict_inner
def remove(i, first, last, graph, node):
    """Removes the values at the places first .. last - 1 of a variable's list."""
    kept = 0
    for p in range(node.left[i]):
        a = node.values[i, p]
        if first <= p < last:
            _forget(i, a, graph, node)
        else:
            node.values[i, kept] = a
            kept += 1
    node.left[i] = kept


@jit.strict_inner
def score(graph, e, side, a, b):
    """Of value a of the variable at a side of an edge, with value b at the other."""
    if len(graph.weights):
        return graph.weights[e] if a == b else np.int64(0)
    return graph.tables[side, graph.table_of[e], a, b]


@jit.strict_inner
def _forget(i, a, graph, node):
    for place in range(graph.starts[i], graph.starts[i + 1]):
        node.message[graph.edge[place], graph.side[place], a] = GONE


@jit.strict_inner
def _visit(i, graph, node, forward, constant, cut, scratch):
    """Takes, removes values and gives; returns the new constant."""
    ahead, behind = _take(i, graph, node, forward, scratch)
    constant = _normalise(i, graph, node, constant, cut)
    if constant <= cut:
        return constant
    if node.left[i] == 1:
        _finish(i, graph, node)
    elif ahead:
        _give(i, graph, node, forward, ahead, max(ahead, behind))
    return constant


@jit.strict_inner
def _normalise(i, graph, node, constant, cut):
    """Moves the largest field into the constant, and removes values that cannot lead above the cut."""
    best = np.int64(FORBIDDEN_FIELD)
    for p in range(node.left[i]):
        best = max(best, node.field[i, node.values[i, p]])
    constant = max(constant + best, np.int64(FORBIDDEN_FIELD))
    if constant <= cut:
        return constant
    kept = 0
    for p in range(node.left[i]):
        a = node.values[i, p]
        node.field[i, a] -= best
        if constant + node.field[i, a] > cut:
            node.values[i, kept] = a
            kept += 1
        else:
            _forget(i, a, graph, node)
    node.left[i] = kept
    return constant


@jit.strict_inner
def _finish(i, graph, node):
    """Hands what is left of the edges of a variable of one value to its neighbours."""
    a = node.values[i, 0]
    for place in range(graph.starts[i], graph.starts[i + 1]):
        j, e, side = graph.near[place], graph.edge[place], graph.side[place]
        if node.done[j]:
            continue
        mine = node.message[e, side, a]
        for q in range(node.left[j]):
            b = node.values[j, q]
            rest = score(graph, e, side, a, b) - mine - node.message[e, 1 - side, b]
            node.field[j, b] = max(FORBIDDEN_FIELD, node.field[j, b] + rest)
    node.done[i] = 1


@jit.strict_inner
def _take(i, graph, node, forward, scratch):
    """Takes all from the edges; returns the numbers of edges ahead and behind."""
    ahead, behind = 0, 0
    for place in range(graph.starts[i], graph.starts[i + 1]):
        j, e, side = graph.near[place], graph.edge[place], graph.side[place]
        if node.done[j]:
            continue
        other = node.message[e, 1 - side]
        if len(graph.weights):
            _most_of_weight(i, graph.weights[e], node, other, scratch)
        elif FEW * node.left[j] < len(other):
            _most_of_few(i, j, graph.tables[side, graph.table_of[e]], node, other, scratch)
        else:
            _most_of_table(i, graph.tables[side, graph.table_of[e]], node, other, scratch)
        _take_most(i, node, node.message[e, side], scratch)
        on = (j > i) == forward
        ahead, behind = ahead + on, behind + (not on)
    return ahead, behind


@jit.strict_inner
def _take_most(i, node, message, most):
    """Hands a variable the most that an edge wins with each of its values."""
    far = np.int64(0)
    for p in range(node.left[i]):
        a = node.values[i, p]
        far = max(far, abs(most[a]) if most[a] > IMPOSSIBLE else np.int64(0))
    if far > FARTHEST:
        return
    for p in range(node.left[i]):
        a = node.values[i, p]
        if most[a] > IMPOSSIBLE:
            node.field[i, a] = max(FORBIDDEN_FIELD, node.field[i, a] + most[a] - message[a])
            message[a] = most[a]
        else:
            node.field[i, a] = FORBIDDEN_FIELD


@jit.strict_inner
def _most_of_table(i, table, node, other, most):
    """Sets `most [k]` to what each value of i wins at most from an edge."""
    for p in range(node.left[i]):
        row = table[node.values[i, p]]
        best = np.int64(2 * FORBIDDEN_FIELD)
        for b in range(len(other)):
            best = max(best, row[b] - other[b])
        most[node.values[i, p]] = best


@jit.strict_inner
def _most_of_few(i, j, table, node, other, most):
    """As `_most_of_table`, value by value of j."""
    for p in range(node.left[i]):
        row = table[node.values[i, p]]
        best = np.int64(2 * FORBIDDEN_FIELD)
        for q in range(node.left[j]):
            b = node.values[j, q]
            best = max(best, row[b] - other[b])
        most[node.values[i, p]] = best


@jit.strict_inner
def _most_of_weight(i, weight, node, other, most):
    """As `_most_of_table`, where equal values score `weight` and others nothing."""
    least, where = np.int64(2 * GONE), 0
    for b in range(len(other)):
        if other[b] < least:
            least, where = other[b], b
    second = np.int64(2 * GONE)
    for b in range(len(other)):
        second = min(second, other[b] if b != where else second)
    for p in range(node.left[i]):
        a = node.values[i, p]
        most[a] = max(weight - other[a], -second if a == where else -least)


@jit.strict_inner
def _give(i, graph, node, forward, ahead, parts):
    """Gives a share, one of `parts`, to each edge ahead; rounded towards zero, so that nothing comes above it."""
    for p in range(node.left[i]):
        a = node.values[i, p]
        share = -(-node.field[i, a] // parts)
        if share == 0:
            continue
        node.field[i, a] -= ahead * share
        for place in range(graph.starts[i], graph.starts[i + 1]):
            j = graph.near[place]
            if not node.done[j] and (j > i) == forward:
                node.message[graph.edge[place], graph.side[place], a] -= share
