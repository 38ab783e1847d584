"""Maximum flow on sparse graphs of any size, in integers, on lists of arcs.

Balances and residuals are those of `word_flow`. Most excess lies beside a deficit and goes there at once;
trees (`flow_trees`) bring what is left where it has not far to go. Where it has, they take long: then
rounds like those of `word_flow` finish, each of which looks at the whole graph but moves everything.

References:
    Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power estimation.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Int
from numba import njit

from .arcs import Arcs, arcs_of
from .arrays import Edges, States
from .flow_trees import FREE, UNFINISHED, grow_trees, new_trees
from .threads import over_slices

UNREACHED = -1

STEPS_A_NODE = 16
"""After so many the trees give up. Grids whose scores are noise need 0.5 to 4, those with far to go 100."""


def sparse_flow_argmax(
    unary: Int[np.ndarray, "batch n"],
    pairwise: Int[np.ndarray, "batch e"],
    edges: Edges,
    threads: int | None = None,
) -> tuple[States, Int[np.ndarray, "batch"]]:
    """The maximisers `[batch, n]` and twice the maxima `[batch]`, as the flow proves them.

    Args:
        unary: `[batch, n]`, int64.
        pairwise: `[batch, e]`, int64, >= 0; four times the absolute scores of an instance fit int64.
        edges: `[e, 2]`, distinct pairs i < j.
        threads: most threads to use; None for all cores.
    """
    batch, n = unary.shape
    z = np.empty((batch, n), np.int8)
    doubled = np.empty(batch, np.int64)
    kernel = partial(_solve_instances, arcs_of(edges, n))
    inputs = (np.require(array, requirements=["C", "W"]) for array in (unary, pairwise))
    # Fitted to grids.
    nanoseconds = 1000 + 60 * n + 60 * len(edges)
    over_slices(kernel, *inputs, z, doubled, nanoseconds=nanoseconds, threads=threads)
    return z, doubled


@njit(cache=True, nogil=True)
def _load_instance(arcs, unary, pairwise, balance, residual):
    """Sets the balances [n] and residuals [2e] of no flow."""
    for i in range(balance.shape[0]):
        total = 2 * unary[i]
        for a in range(arcs.start[i], arcs.start[i + 1]):
            residual[a] = pairwise[arcs.edge[a]]
            total += residual[a]
        balance[i] = total


@njit(cache=True, nogil=True)
def _push_to_neighbours(arcs, balance, residual):
    """Sends excess along single arcs to deficits, as much as fits."""
    for i in range(balance.shape[0]):
        excess = balance[i]
        if excess <= 0:
            continue
        for a in range(arcs.start[i], arcs.start[i + 1]):
            j = arcs.head[a]
            if balance[j] < 0:
                amount = min(min(residual[a], -balance[j]), excess)
                residual[a] -= amount
                residual[arcs.mate[a]] += amount
                balance[j] += amount
                excess -= amount
        balance[i] = excess


@njit(cache=True, nogil=True)
def _find_distances(arcs, balance, residual, distance, order):
    """Sets distances, in arcs to the nearest deficit, and the nodes by distance; returns how many have one.

    Nodes that were cut off stay so, as distances do not fall.
    """
    n = balance.shape[0]
    reached = 0
    for i in range(n):
        if balance[i] < 0:
            distance[i] = 0
            order[reached] = i
            reached += 1
        elif distance[i] != UNREACHED:
            distance[i] = n
    first = 0
    while first < reached:
        i = order[first]
        first += 1
        for a in range(arcs.start[i], arcs.start[i + 1]):
            j = arcs.head[a]
            if distance[j] == n and residual[arcs.mate[a]] > 0:
                distance[j] = distance[i] + 1
                order[reached] = j
                reached += 1
    for i in range(n):
        if distance[i] == n:
            distance[i] = UNREACHED
    return reached


@njit(cache=True, nogil=True)
def _push_in_rounds(arcs, balance, residual, distance, order):
    """Pushes excess until none can reach a deficit; the nodes left without distance are the source side.

    Round by round as in `word_flow`: from the farthest nodes on, along all shortest paths at once.
    """
    distance[:] = 0
    while True:
        reached = _find_distances(arcs, balance, residual, distance, order)
        active = False
        for place in range(reached - 1, -1, -1):
            i = order[place]
            excess = balance[i]
            if distance[i] == 0:
                break
            if excess == 0:
                continue
            active = True
            for a in range(arcs.start[i], arcs.start[i + 1]):
                j = arcs.head[a]
                if distance[j] == distance[i] - 1 and residual[a] > 0:
                    amount = min(residual[a], excess)
                    if distance[j] == 0:
                        amount = min(amount, -balance[j])
                    residual[a] -= amount
                    residual[arcs.mate[a]] += amount
                    balance[j] += amount
                    excess -= amount
                    if excess == 0:
                        break
            balance[i] = excess
        if not active:
            return


@njit(cache=True, nogil=True)
def _solve_instances(arcs, unary, pairwise, z, doubled):
    """Solves a slice of the batch into z and doubled, with scratch of its own."""
    batch, n = unary.shape
    balance = np.empty(n, np.int64)
    residual = np.empty(arcs.head.shape[0], np.int64)
    trees = new_trees(n)
    for s in range(batch):
        _load_instance(arcs, unary[s], pairwise[s], balance, residual)
        _push_to_neighbours(arcs, balance, residual)
        complete = grow_trees(arcs, balance, residual, trees, STEPS_A_NODE * n)
        if complete == UNFINISHED:
            distance, order = trees.level, trees.parent
            _push_in_rounds(arcs, balance, residual, distance, order)
            for i in range(n):
                z[s, i] = distance[i] == UNREACHED
        else:
            for i in range(n):
                z[s, i] = trees.level[i] > 0 or (complete == 1 and trees.level[i] == FREE)
        excess = 0
        for i in range(n):
            excess += max(balance[i], 0)
        doubled[s] = excess
