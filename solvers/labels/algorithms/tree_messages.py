"""Sum-product messages along the edges of any graph, each edge with a weight: bounds on log Z, or an estimate.

An edge e = (i, j) of weight r_e sends log messages m_i(a) and m_j(b). With them

    u_i(a) = score_i(a) + sum_e r_e m_i(a),    g_e(a, b) = score_e(a, b) / r_e - m_i(a) - m_j(b),

so that score = sum_i u_i + sum_e r_e g_e, whatever the messages are. Let every variable choose one of its edges to
variables later in some order, with the probabilities r_e, which add up to one. What is chosen is a forest, and score
the mean of sum_i u_i + sum of g_e over the forest's edges. Log Z is convex: the mean of the forests' log Z is an upper
bound (tree reweighting). So is what a pass in that order finds, which takes Hoelder's inequality at every variable
in place of the mean: a variable with the sum s(a) of what is known of it hands r_e log sum_a exp(g_e(a, b) + s(a)) to
b at the other end. A message that is the sum it stands for makes that a constant, which is all that the bound needs.

With weights of one the messages are those of loopy belief propagation.

References:
    Wainwright, Jaakkola, Willsky (2005), A new class of upper bounds on the log partition function.
    Globerson, Jaakkola (2007), Convergent propagation algorithms via oriented trees.
    Liu, Ihler (2011), Bounding the partition function using Hoelder's inequality.
    Yedidia, Freeman, Weiss (2005), Constructing free-energy approximations and generalized belief propagation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit
from ...compiled.graphs import neighbour_lists, sides_of
from ..problem import LabelProblem


class Tree(NamedTuple):
    """Who is joined with whom, by what scores, in what order.

    Attributes:
        starts: `[n + 1]`, the first neighbour of every variable.
        near: `[2 e]`, the neighbours.
        edge: `[2 e]`, the edges to them.
        side: `[2 e]`, which end of that edge the variable itself is.
        order: `[n]`, the variables.
        place: `[n]`, of each variable in the order.
        sizes: `[n]`.
        tables: `[t, k, k]`.
        table_of: `[e]`.
        factors: `[e]`, by which an edge's table is multiplied.
        equal: whether the only table is that of equal values, and no factor is below zero.
    """

    starts: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    side: np.ndarray
    order: np.ndarray
    place: np.ndarray
    sizes: np.ndarray
    tables: np.ndarray
    table_of: np.ndarray
    factors: np.ndarray
    equal: bool

    @classmethod
    def of(cls, problem: LabelProblem) -> Tree:
        """Of a host problem of one instance."""
        problem = problem.dense()
        starts, near, edge = neighbour_lists(problem.n, problem.topology.pairs)
        side = sides_of(starts, edge, problem.topology.pairs)
        order = roots_last(starts, near)
        tables = np.ascontiguousarray(problem.tables[0], np.float64)
        factors = np.ones(problem.e) if problem.weights is None else problem.weights[0].astype(np.float64)
        equal = len(tables) == 1 and bool((tables[0] == np.eye(problem.k)).all() and (factors >= 0).all())
        return cls(
            starts,
            near,
            edge,
            side,
            order,
            np.argsort(order),
            problem.sizes,
            tables,
            problem.table_of,
            factors,
            equal,
        )

    def forest_weights(self) -> np.ndarray:
        """`[e]`: every edge's probability, where each variable chooses among its edges to later ones at random."""
        weights = np.ones(len(self.table_of))
        owner = np.repeat(np.arange(len(self.order)), np.diff(self.starts))
        later = self.place[self.near] > self.place[owner]
        count = np.bincount(owner[later], minlength=len(self.order))
        weights[self.edge[later]] = 1.0 / count[owner[later]]
        return weights


@jit.strict
def roots_last(starts, near):
    """`[n]`: an order in which all variables but the last of each component have a neighbour behind them."""
    n = len(starts) - 1
    order, seen = np.empty(n, np.int64), np.zeros(n, np.uint8)
    count = 0
    for root in range(n):
        if seen[root]:
            continue
        head, order[count], seen[root] = count, root, 1
        count += 1
        while head < count:
            for place in range(starts[order[head]], starts[order[head] + 1]):
                if not seen[near[place]]:
                    order[count], seen[near[place]] = near[place], 1
                    count += 1
            head += 1
    return order[::-1].copy()


@jit.strict
def pass_on(tree, unary, weights, message, forward, damping, scratch):
    """One visit to every variable, in the order or against it, which sends messages to those that come then.

    Args:
        tree: of the instance.
        unary: `[n, k]`; a value that nothing can go with becomes minus infinity.
        weights: `[e]`.
        message: `[e, 2, k]`, to the values of each end.
        forward: whether in the order.
        damping: the part of the old messages in the new ones.
        scratch: `[2, k]`.

    Returns:
        The bound on log Z that goes with the messages, where the pass is forward, damping is zero and the weights are
        those of `forest_weights`; minus infinity where every assignment is forbidden. And the farthest that a message
        moved.
    """
    total, moved = 0.0, 0.0
    for step in range(len(tree.order)):
        i = tree.order[step if forward else len(tree.order) - 1 - step]
        own = gathered(i, tree, unary, weights, message, scratch)
        if own == -np.inf:
            return -np.inf, moved
        ahead = 0
        for at in range(tree.starts[i], tree.starts[i + 1]):
            j, e, side = tree.near[at], tree.edge[at], tree.side[at]
            if (tree.place[j] > tree.place[i]) != forward:
                continue
            ahead += 1
            most, change = _send(i, j, e, side, tree, unary, weights[e], message[e], damping, scratch)
            total += weights[e] * most
            moved = max(moved, change)
        if not ahead:
            total += own
    return total, moved


@jit.strict_inner
def gathered(i, tree, unary, weights, message, scratch):
    """Sets the first row of `scratch` to u_i; returns log sum exp of it."""
    sums = scratch[0]
    for a in range(tree.sizes[i]):
        sums[a] = unary[i, a]
    for at in range(tree.starts[i], tree.starts[i + 1]):
        e = tree.edge[at]
        for a in range(tree.sizes[i]):
            sums[a] += weights[e] * message[e, tree.side[at], a]
    return log_sum(sums, tree.sizes[i])


@jit.strict_inner
def log_sum(values, count):
    """Log sum exp of the first values."""
    most = -np.inf
    for a in range(count):
        most = max(most, values[a])
    if most == -np.inf:
        return most
    total = 0.0
    for a in range(count):
        total += np.exp(values[a] - most)
    return most + np.log(total)


@jit.strict_inner
def score(tree, e, side, a, b):
    """Of value a of the variable at a side of an edge, with value b at the other."""
    first, second = (a, b) if side == 0 else (b, a)
    own = tree.tables[tree.table_of[e], first, second]
    return own if own == -np.inf else own * tree.factors[e]


@jit.strict_inner
def _send(i, j, e, side, tree, unary, weight, message, damping, scratch):
    """Sends i's message to j, of which the largest is zero; returns what was taken off it, and how far it moved."""
    sums, sent = scratch
    cavity = np.empty(tree.sizes[i])
    for a in range(tree.sizes[i]):
        cavity[a] = sums[a] - message[side, a]
    most = -np.inf
    whole = log_sum(cavity, tree.sizes[i]) if tree.equal else 0.0
    for b in range(tree.sizes[j]):
        if unary[j, b] == -np.inf:
            continue
        if tree.equal:
            sent[b] = whole
            if b < tree.sizes[i]:
                rise = np.expm1(tree.factors[e] / weight)
                if rise < np.inf:
                    sent[b] += np.log1p(rise * np.exp(cavity[b] - whole))
                else:
                    sent[b] = np.logaddexp(whole, tree.factors[e] / weight + cavity[b])
        else:
            sent[b] = _best_sum(tree, e, side, cavity, b, weight)
        most = max(most, sent[b])
    moved = 0.0
    for b in range(tree.sizes[j]):
        if unary[j, b] == -np.inf:
            continue
        if sent[b] == -np.inf:
            unary[j, b], message[1 - side, b] = -np.inf, 0.0
            moved = np.inf
            continue
        new = (1.0 - damping) * (sent[b] - most) + damping * message[1 - side, b]
        moved = max(moved, abs(new - message[1 - side, b]))
        message[1 - side, b] = new
    return most, moved


@jit.strict_inner
def _best_sum(tree, e, side, cavity, b, weight):
    """Log sum over a of exp(score(a, b) / weight + cavity(a))."""
    most = -np.inf
    for a in range(len(cavity)):
        most = max(most, score(tree, e, side, a, b) / weight + cavity[a])
    if most == -np.inf:
        return most
    total = 0.0
    for a in range(len(cavity)):
        total += np.exp(score(tree, e, side, a, b) / weight + cavity[a] - most)
    return most + np.log(total)


@jit.strict
def beliefs(tree, unary, weights, message, of_variables, of_pairs, scratch):
    """Sets the marginals `[n, k]` and `[e, k, k]` that messages stand for; returns the estimate of log Z by Bethe.

    That is sum_i log Z_i + sum_e (log Z_e - log Z_i - log Z_j), with Z_i the sum of exp(u_i), and Z_e that of
    exp(g_e + u_i + u_j): it means something where all weights are one.
    """
    total = 0.0
    logs = np.empty((len(tree.order), of_variables.shape[1]))
    for i in range(len(tree.order)):
        own = gathered(i, tree, unary, weights, message, scratch)
        total += own
        for a in range(tree.sizes[i]):
            logs[i, a] = scratch[0, a] - own
            of_variables[i, a] = np.exp(logs[i, a])
    for i in range(len(tree.order)):
        for at in range(tree.starts[i], tree.starts[i + 1]):
            if tree.side[at] == 0:
                j, e = tree.near[at], tree.edge[at]
                total += _pair_belief(i, j, e, tree, weights[e], message[e], logs, of_pairs[e])
    return total


@jit.strict_inner
def _pair_belief(i, j, e, tree, weight, message, logs, own):
    """Sets the marginals of a pair; returns log Z_e - log Z_i - log Z_j."""
    most = -np.inf
    for a in range(tree.sizes[i]):
        for b in range(tree.sizes[j]):
            value = logs[i, a] + logs[j, b]
            if value > -np.inf:
                value += score(tree, e, 0, a, b) / weight - message[0, a] - message[1, b]
            own[a, b] = value
            most = max(most, value)
    total = 0.0
    for a in range(tree.sizes[i]):
        for b in range(tree.sizes[j]):
            own[a, b] = np.exp(own[a, b] - most) if most > -np.inf else 0.0
            total += own[a, b]
    for a in range(tree.sizes[i]):
        for b in range(tree.sizes[j]):
            own[a, b] /= max(total, 1.0)
    return most + np.log(total)
