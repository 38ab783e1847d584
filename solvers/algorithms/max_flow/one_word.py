"""Maximum flow on small dense graphs, a node's residual arcs being the bits of one word.

Twice the score of a supermodular problem is, as 2 z_i z_j = z_i - z_i (1 - z_j) + z_j - z_j (1 -
z_i),

    2 score(z) = sum_i balance_i z_i - sum_(i != j) residual_ij z_i (1 - z_j)

with balance_i = 2 unary_i + sum_j pairwise_ij and residual_ij = residual_ji = pairwise_ij. A
positive balance is capacity left from the source to i, a negative one from i to the sink. Moving an
amount from balance_i to balance_j and from residual_ij to residual_ji keeps the identity, so flow
may stop at any node and go on from there later. Only sums, differences and comparisons are taken of
the coefficients (hence twice the score, not halves): scaling them by a power of two changes
nothing.

References:
    Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power
    estimation.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import Edges, Pairwise, Scores, States, Unary
from ...compiled._kernels import max_flow as kernels
from ...compiled.plain import plain
from ...compiled.threads import over_slices
from ...topology import Topology

MAX_NODES = 62
"""A set of nodes is one word."""


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
    kernel = partial(kernels.one_word, topology.recall(_ends))
    # Fitted to dense graphs, rings and grids of 15 to 62 nodes, within a factor of 3.
    nanoseconds = 200 + 20 * n + 3 * topology.e
    over_slices(
        kernel, plain(unary), plain(pairwise), z, bound, nanoseconds=nanoseconds, threads=threads
    )
    return z, bound


def _ends(n: int, edges: Edges) -> np.ndarray:
    return edges.astype(np.uint8)
