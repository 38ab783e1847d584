"""Maximum flow on small dense graphs, a node's residual arcs being the bits of one word.

Twice the score of a supermodular problem is, as 2 z_i z_j = z_i - z_i (1 - z_j) + z_j - z_j (1 - z_i),

    2 score(z) = sum_i balance_i z_i - sum_(i != j) residual_ij z_i (1 - z_j)

with balance_i = 2 unary_i + sum_j pairwise_ij and residual_ij = residual_ji = pairwise_ij. A positive
balance is capacity left from the source to i, a negative one from i to the sink. Moving an amount from
balance_i to balance_j and from residual_ij to residual_ji keeps the identity, so flow may stop at any
node and go on from there later. Only sums, differences and comparisons are taken of the coefficients
(hence twice the score, not halves): scaling them by a power of two changes nothing.

References:
    Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power estimation.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import Edges, Pairwise, Scores, States, Unary
from ...compiled import jit
from ...compiled.bits import lowest_bit
from ...compiled.plain import plain
from ...compiled.threads import over_slices
from ...topology import Topology

MAX_NODES = 62
"""Node sets are the bits of a signed int64, and (1 << n) - 1 must not reach the sign bit."""


def one_word_argmax(
    unary: Unary, pairwise: Pairwise, topology: Topology, threads: int | None = None
) -> tuple[States, Scores]:
    """The maximisers `[batch, n]` and an upper bound on each maximum, attained up to rounding `[batch]`.

    Args:
        unary: `[batch, n]`, n <= 62, float32 or float64.
        pairwise: `[batch, e]` of the same type, >= 0.
        topology: the pairs.
        threads: most threads to use; None for all cores.
    """
    batch, n = unary.shape
    z = np.empty((batch, n), np.int8)
    bound = np.empty(batch)
    kernel = partial(_solve_instances, topology.recall(_ends))
    # Fitted to dense graphs, rings and grids of 15 to 62 nodes, within a factor of 3.
    nanoseconds = 200 + 20 * n + 3 * topology.e
    over_slices(kernel, plain(unary), plain(pairwise), z, bound, nanoseconds=nanoseconds, threads=threads)
    return z, bound


def _ends(n: int, edges: Edges) -> np.ndarray:
    return edges.astype(np.uint8)  # unsigned indices spare numba's test for negative ones


@jit.strict
def _load_instance(ends, unary, pairwise, balance, residual, successors):
    """Sets the balances [n], residuals [n, n] and successor words [n] of no flow."""
    n = balance.shape[0]
    for i in range(n):
        balance[i] = 2.0 * np.float64(unary[i])
    for k in range(pairwise.shape[0]):
        i, j = ends[k, 0], ends[k, 1]
        weight = np.float64(pairwise[k])
        residual[i, j] = weight
        residual[j, i] = weight
    # Whole rows vectorise; updating sums and words above would wait for each store.
    for i in range(n):
        word = 0
        for j in range(n):
            balance[j] += residual[i, j]
            word |= np.int64(residual[i, j] > 0.0) << j
        successors[i] = word


@jit.strict
def _nodes_by_sign(balance):
    """Words of the nodes with a deficit (capacity to the sink) and with an excess."""
    deficit = excess = 0
    for i in range(balance.shape[0]):
        deficit |= np.int64(balance[i] < 0.0) << i
        excess |= np.int64(balance[i] > 0.0) << i
    return deficit, excess


@jit.strict
def _predecessors(successors, heads):
    """Word of the nodes with a residual arc to any node of heads."""
    word = 0
    for i in range(successors.shape[0]):
        word |= np.int64((successors[i] & heads) != 0) << i
    return word


@jit.strict
def _push(tail, heads, balance, residual, successors):
    """Moves excess from tail to heads; returns the word of the deficits it filled.

    A head with a deficit takes no more than that. The body has no branch because which
    of the three limits binds is unpredictable; that one becomes exactly zero.
    """
    excess = balance[tail]
    tail_bit = 1 << tail
    saturated = filled = 0
    while heads != 0 and excess > 0.0:
        head = lowest_bit(heads)
        heads &= heads - 1
        capacity = residual[tail, head]
        level = balance[head]
        room = -level if level < 0.0 else np.inf
        amount = min(min(capacity, room), excess)
        excess -= amount
        capacity -= amount
        level += amount
        residual[tail, head] = capacity
        residual[head, tail] += amount
        balance[head] = level
        successors[head] |= tail_bit
        saturated |= np.int64(capacity == 0.0) << head
        filled |= np.int64(level == 0.0) << head
    balance[tail] = excess
    successors[tail] ^= saturated
    return filled


@jit.strict
def _maximise_flow(balance, residual, successors, layers):
    """Pushes excess until none can reach a deficit; returns the sink side of the cut.

    Each round finds layers[d], the nodes d arcs from a deficit, and moves excess from
    the farthest layer down, along all shortest paths at once. A node with excess left
    has no arc to the next layer any more, and pushes only create arcs to a farther one:
    no distance falls, that of such a node grows, so there are O(n^2) rounds (2 to 7 are
    typical). This needs only that limits vanish exactly: no tolerance is involved.
    """
    n = balance.shape[0]
    # Nodes cut off from every deficit stay so, as distances do not fall.
    sink_side = (1 << n) - 1
    while True:
        layer, excess = _nodes_by_sign(balance)
        reached = layer
        depth = 0
        while layer != 0:
            layers[depth] = layer
            depth += 1
            layer = _predecessors(successors, layer) & sink_side & ~reached
            reached |= layer
        sink_side = reached
        if excess & sink_side == 0:
            return sink_side
        for d in range(depth - 1, 0, -1):
            tails = layers[d]
            while tails != 0:
                tail = lowest_bit(tails)
                tails &= tails - 1
                if balance[tail] > 0.0:
                    heads = successors[tail] & layers[d - 1]
                    layers[d - 1] ^= _push(tail, heads, balance, residual, successors)


@jit.strict
def _solve_instances(ends, unary, pairwise, z, bound):
    """Solves a slice of the batch into z and bound, with scratch of its own."""
    batch, n = unary.shape
    balance = np.empty(n, np.float64)
    residual = np.zeros((n, n), np.float64)
    successors = np.empty(n, np.int64)
    layers = np.empty(n, np.int64)
    for s in range(batch):
        _load_instance(ends, unary[s], pairwise[s], balance, residual, successors)
        sink_side = _maximise_flow(balance, residual, successors, layers)
        # Weak duality: as residuals are >= 0, the identity at the top gives 2 score(z)
        # <= sum_i max(balance_i, 0) for all z, with equality for this cut; this is
        # 2 (sum_i max(a_i, 0) - flow), a_i = balance_i / 2 at the start. Balances are
        # rounded to nearest, not upwards: an error measured below 1e-15 times the sum
        # of the absolute coefficients.
        excess = 0.0
        for i in range(n):
            excess += max(balance[i], 0.0)
            z[s, i] = 1 - ((sink_side >> i) & 1)
        bound[s] = 0.5 * excess
