"""Find maximum flows on small dense graphs, with a node's residual arcs as the bits of one word.

As 2 z_i z_j = z_i - z_i (1 - z_j) + z_j - z_j (1 - z_i), twice the score of a supermodular problem
is

    2 score(z) = sum_i balance_i z_i - sum_(i != j) residual_ij z_i (1 - z_j)

with balance_i = 2 unary_i + sum_j pairwise_ij and residual_ij = residual_ji = pairwise_ij. A
positive balance is remaining capacity from the source to i, a negative one from i to the sink.
Moving an amount from balance_i to balance_j and from residual_ij to residual_ji keeps the identity,
so flow may stop at any node and continue from there later. The coefficients are only added,
subtracted and compared (hence twice the score, not halves): scaling them by a power of two changes
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
from ...problems.topology import Topology

MAX_NODES = 62
"""Largest number of nodes, so that a set of nodes fits into one word."""


def one_word_argmax(
    unary: Unary, pairwise: Pairwise, topology: Topology, threads: int | None = None
) -> tuple[States, Scores]:
    """Return the maximisers `[batch, n]` and upper bounds on the maxima `[batch]`.

    The maximisers attain their bounds up to rounding.

    Args:
        unary: `[batch, n]`, n <= 62, float32 or float64.
        pairwise: `[batch, e]` of the same type, >= 0.
        topology: the pairs.
        threads: maximum number of threads; None for all cores.
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
