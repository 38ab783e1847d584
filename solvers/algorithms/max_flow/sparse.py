"""Maximum flow on sparse graphs of any size, in integers, on lists of arcs.

Balances and residuals are those of `one_word`. Much excess lies beside a deficit and goes there at once;
the trees of `trees` carry the rest while it has not far to go. Where it has, they take long: then rounds
like those of `one_word` finish, each of which looks at the whole graph but moves everything.

References:
    Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power estimation.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Int

from ...arrays import Edges, States
from ...compiled import jit
from .batch import UNREACHED, cut_batch
from .graph import ARC, NODE, connect
from .trees import FREE, NOBODY, SINK, UNFINISHED, grow_trees, new_trees

BLOCK = 16384
"""Nodes whose arcs the processor's cache holds: larger graphs took 5 to 25% less in blocks first."""

STEPS = 4
"""The trees give up after so many for each node and arc, which is a third of the time of the rounds.

Grids and random graphs of noise need 1 to 8; grids where flow has far to go, or a star, 32 to 1024.
"""


def sparse_argmax(
    unary: Int[np.ndarray, "batch n"],
    pairwise: Int[np.ndarray, "batch e"],
    edges: Edges,
    threads: int | None = None,
    stop: np.ndarray | None = None,
) -> tuple[States, Int[np.ndarray, "batch"]]:
    """As `cut_batch`, for graphs with distinct `edges [e, 2]`, i < j.

    A flow that is cut short by `stop [1]`, uint8, which another thread sets, proves less: states that may be no
    maximisers, and numbers that are upper bounds on twice the maxima.
    """
    stop = np.zeros(1, np.uint8) if stop is None else stop
    kernel = partial(_solve_instances, np.require(edges, requirements=["C", "W"]), stop)
    # Within a factor of 3 on grids and random graphs.
    return cut_batch(kernel, unary, pairwise, 1000 + 50 * unary.shape[1] + 100 * len(edges), threads)


@jit.borrowing
def _load_instance(edge, unary, pairwise, nodes, arcs):
    """Sets the balances [n] and residuals [2e] of no flow."""
    for i in range(nodes.shape[0] - 1):
        total = 2 * unary[i]
        for a in range(nodes[i].start, nodes[i + 1].start):
            arcs[a].residual = pairwise[edge[a]]
            total += arcs[a].residual
        nodes[i].balance = total
        nodes[i].level = FREE
        nodes[i].parent = NOBODY


@jit.borrowing
def _push_to_neighbours(nodes, arcs):
    """Sends excess along single arcs to deficits, as much as fits."""
    for i in range(nodes.shape[0] - 1):
        excess = nodes[i].balance
        if excess <= 0:
            continue
        for a in range(nodes[i].start, nodes[i + 1].start):
            j = arcs[a].head
            if nodes[j].balance < 0:
                amount = min(min(arcs[a].residual, -nodes[j].balance), excess)
                arcs[a].residual -= amount
                arcs[arcs[a].mate].residual += amount
                nodes[j].balance += amount
                excess -= amount
        nodes[i].balance = excess


@jit.borrowing
def _find_distances(nodes, arcs, order):
    """Sets distances, in arcs to the nearest deficit, and the nodes by distance; returns how many have one.

    Nodes that were cut off stay so, as distances do not fall.
    """
    n = nodes.shape[0] - 1
    reached = 0
    for i in range(n):
        if nodes[i].balance < 0:
            nodes[i].level = 0
            order[reached] = i
            reached += 1
        elif nodes[i].level != UNREACHED:
            nodes[i].level = n
    first = 0
    while first < reached:
        i = order[first]
        first += 1
        for a in range(nodes[i].start, nodes[i + 1].start):
            j = arcs[a].head
            if nodes[j].level == n and arcs[arcs[a].mate].residual > 0:
                nodes[j].level = nodes[i].level + 1
                order[reached] = j
                reached += 1
    for i in range(n):
        if nodes[i].level == n:
            nodes[i].level = UNREACHED
    return reached


@jit.borrowing
def _push_in_rounds(nodes, arcs, order, stop):
    """Pushes excess until none can reach a deficit; the nodes left without distance are the source side.

    Round by round as in `one_word`: from the farthest nodes on, along all shortest paths at once.
    """
    for i in range(nodes.shape[0] - 1):
        nodes[i].level = 0
    while not stop[0]:
        reached = _find_distances(nodes, arcs, order)
        active = False
        for place in range(reached - 1, -1, -1):
            i = order[place]
            excess = nodes[i].balance
            if nodes[i].level == 0:
                break
            if excess == 0:
                continue
            active = True
            for a in range(nodes[i].start, nodes[i + 1].start):
                j = arcs[a].head
                if nodes[j].level == nodes[i].level - 1 and arcs[a].residual > 0:
                    amount = min(arcs[a].residual, excess)
                    if nodes[j].level == 0:
                        amount = min(amount, -nodes[j].balance)
                    arcs[a].residual -= amount
                    arcs[arcs[a].mate].residual += amount
                    nodes[j].balance += amount
                    excess -= amount
                    if excess == 0:
                        break
            nodes[i].balance = excess
        if not active:
            return


@jit.borrowing
def _solve_blocks(nodes, arcs, trees, stop):
    """Moves what it can within each block of nodes."""
    n = nodes.shape[0] - 1
    for first in range(0, n, BLOCK):
        last = min(first + BLOCK, n)
        size = last - first + nodes[last].start - nodes[first].start
        grow_trees(nodes, arcs, trees, first, last, STEPS * size, stop)
        for i in range(first, last):
            nodes[i].level = FREE
            nodes[i].parent = NOBODY


@jit.strict
def _solve_instances(edges, stop, unary, pairwise, z, doubled):
    """Solves a slice of the batch into z and doubled, with scratch of its own."""
    batch, n = unary.shape
    nodes, arcs = np.empty(n + 1, NODE), np.empty(2 * len(edges), ARC)
    edge = np.empty(2 * len(edges), np.uint32)
    connect(edges, nodes, arcs, edge)
    trees = new_trees(n)
    for s in range(batch):
        _load_instance(edge, unary[s], pairwise[s], nodes, arcs)
        _push_to_neighbours(nodes, arcs)
        if n > BLOCK:
            _solve_blocks(nodes, arcs, trees, stop)
        complete = grow_trees(nodes, arcs, trees, 0, n, STEPS * (n + len(arcs)), stop)
        if complete == UNFINISHED:
            _push_in_rounds(nodes, arcs, trees.front[0, 0], stop)
        excess = 0
        for i in range(n):
            excess += max(nodes[i].balance, 0)
            level = nodes[i].level
            if complete == UNFINISHED:
                z[s, i] = level == UNREACHED
            else:
                z[s, i] = level > 0 or (complete == SINK and level == FREE)
        doubled[s] = excess
