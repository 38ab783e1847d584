"""Rules for two nodes u and v at once, proved by trying all values of the neighbours of u.

Let v be flipped so that J = weight_uv >= 0, let t be the values of the other neighbours of u, x(t) and y(t) what they
weigh at u and at v, and R what else weighs at v. Then

- s_u = s_v in some maximiser, if x <= J or R - y <= J for all t: where they differ, one of them may flip;
- s_u = s_w in some maximiser, if x + clip(y - R, -J, J) >= 0 for all t with t_w = 1: the left-hand side is half of what
  s_u = 1 gains, when v does the best for each value of u. Likewise with -t_w for s_u = -s_w.

The first has twins, equal and proportional weights, and triangles as special cases; the second has the dominated
vertices of independent sets.

References:
    Lange, Andres, Swoboda (2019), Combinatorial persistency criteria for multicut and max-cut.
    Ferizovic, Hespe, Lamm, Mnich, Schulz, Strash (2020), Engineering kernelization for maximum cut.
    Glover, Lewis, Kochenberger (2018), Logical and inequality implications for reducing the size and difficulty of
    quadratic unconstrained binary optimization problems.
"""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from .changing_graph import NONE, edge_between, weight_between

MOST_NEIGHBOURS = 9
"""Of u: 2^8 values of the others at most, of which a few mostly refute all rules."""

CROWD = 32
"""Of a node that all twins of u are neighbours of, the most neighbours that are looked at."""


@jit.strict
def neighbour_that_decides(graph, u):
    """A neighbour and a sign s such that s_u = s s_neighbour in some maximiser; NONE and 0 if no rule finds one."""
    near, mine = _around(graph, u)
    d = len(near)
    for h in range(d):
        v, others, there = near[h], np.delete(near, h), np.empty(d - 1, np.int64)
        sign = 1 if mine[h] > 0 else -1
        for k in range(d - 1):
            there[k] = sign * weight_between(graph, v, others[k])
        joint = abs(mine[h])
        rest = graph.strength[v] - joint - np.abs(there).sum()
        alike, same, opposite = _what_holds(joint, rest, np.delete(mine, h), there)
        if alike:
            return v, sign
        for k in range(d - 1):
            if same >> k & 1:
                return others[k], 1
            if opposite >> k & 1:
                return others[k], -1
    return NONE, 0


@jit.strict
def twin_of(graph, u):
    """A node with the same neighbours as u, not joined with it, and a sign as above; NONE and 0 if there is none."""
    near, mine = _around(graph, u)
    d = len(near)
    hub = near[0]
    for w in near:
        if graph.degree[w] < graph.degree[hub]:
            hub = w
    if graph.degree[hub] > CROWD:
        return NONE, 0
    there = np.empty(d, np.int64)
    arc = graph.first[hub]
    while arc != NONE:
        v = graph.head[arc]
        arc = graph.after[arc]
        if v == u or graph.degree[v] != d or edge_between(graph, u, v) != NONE:
            continue
        for k in range(d):
            there[k] = weight_between(graph, v, near[k])
        if there.all():
            for sign in (1, -1):
                if _what_holds(0, 0, mine, sign * there)[0]:
                    return v, sign
    return NONE, 0


@jit.strict
def _around(graph, u):
    """The neighbours of u and the weights to them."""
    near, weight = np.empty(graph.degree[u], np.int64), np.empty(graph.degree[u], np.int64)
    arc = graph.first[u]
    for k in range(len(near)):
        near[k], weight[k] = graph.head[arc], graph.weight[arc // 2]
        arc = graph.after[arc]
    return near, weight


@jit.strict
def _what_holds(joint, rest, mine, there):
    """Whether u = v; and the others that u equals, and those of which it is the opposite, as bits."""
    d = len(mine)
    full = (1 << d) - 1
    positive = 0
    for k in range(d):
        positive |= np.int64(mine[k] > 0) << k
    alike, same, opposite = True, full, full
    # Those first that are likely to refute: the extremes of x, and one value away from them.
    for trial in range(2 * (d + 1) + full + 1):
        if trial < 2 * (d + 1):
            t = positive if trial & 1 else full ^ positive
            t ^= (1 << (trial // 2)) & full
        else:
            t = trial - 2 * (d + 1)
        x, y = 0, -rest
        for k in range(d):
            x += mine[k] if t >> k & 1 else -mine[k]
            y += there[k] if t >> k & 1 else -there[k]
        alike &= x <= joint or -y <= joint
        if x + min(max(y, -joint), joint) < 0:
            same &= ~t
            opposite &= t
        if not (alike or same or opposite):
            break
    return alike, same, opposite
