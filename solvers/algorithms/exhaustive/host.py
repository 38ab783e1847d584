"""Score all 2^n states of small pairwise problems, in integers.

The N = n + e coefficients of an instance are rounded to 64-bit fixed point (`fine`) and again to
their upper 32 bits (`coarse`). Integer sums do not round, so scores do not drift, and a vector
register adds and compares 16 of them at once. All states are scored in int32, in blocks of
2^BLOCK_BITS; a block that may hold the maximiser is scored again in int64.

Why the answer is exact, with c the coefficients, S = sum |c|, and M the larger of the sums of the
positive and of the negative c:

*   fine = rint(c * 2^k) for a k such that M * 2^k lies in [2^61, 2^62). A score is a sum of some c,
    so it lies within M, and no sum overflows. The rounding of two states differs by at most N / 2
    units of 2^-k, and 2^-k <= M * 2^-61, so no state exceeds the answer by more than
    N * 2^-62 * S.
*   A state of coarse score m has a fine score of at most m * 2^32 + slack,
    slack = sum |fine - coarse * 2^32|. A block is skipped if its maximum m does not lift this
    above the best fine score so far. Coarse sums stay below 2^31. Whole numbers whose M is below
    2^30 have no slack: every coarse score is exact.
*   Subnormal c are multiples of 2^-1074 and 2^k is at least that large; products c * 2^k that
    underflow are far below one unit.

The low bits of a state index a table, the inner bits are maximised without leaving the registers,
and the other bits are walked: a state of the walk is its parent and one more bit.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...arrays import Pairwise, States, Unary
from ...compiled._kernels import exhaustive as kernels
from ...compiled.problem_checks import in_order
from ...compiled.threads import over_slices
from ...problems.topology import Topology
from .pairs import pairs_of

NANOSECONDS = 0.03
"""Estimated time per state."""

NANOSECONDS_IN_LANES = 0.6
"""Estimated time per state of at most `LANE_VARIABLES` variables."""

LANE_VARIABLES = 8
"""Maximum number of variables for which an instance of a batch has a vector lane (`lanes.hpp`)."""


def host_argmax(
    unary: Unary, pairwise: Pairwise, topology: Topology, threads: int | None = None
) -> States:
    """Return the maximisers `[batch, n]`, for n <= 25.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        topology: the pairs.
        threads: maximum number of threads; None for all cores.
    """
    z = np.empty(unary.shape, np.int8)
    over_slices(
        partial(kernels.maximise, topology.recall(pairs_of)),
        in_order(unary),
        in_order(pairwise),
        z,
        nanoseconds=nanoseconds_of(topology.n),
        threads=threads,
    )
    return z


def nanoseconds_of(n: int) -> float:
    """Return the estimated time of an instance of n variables in a batch."""
    if n <= LANE_VARIABLES:
        return NANOSECONDS_IN_LANES * (1 << n)
    return NANOSECONDS * ((1 << n) + (1 << 15))
