"""Compute log Z and marginals of p(z) ~ exp(score(z)) over all 2^n states.

One pass over the blocks of weights (weights.hpp) gives the sum over all states. It also gives sums
over the states in which one or two given bits are 1 (sums.hpp). It keeps running sums, from which
`draws` draws samples.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ..arrays import Edges, Pairwise, Scores, Unary
from ..compiled._kernels import gibbs_distribution as kernels
from ..compiled.threads import over_slices
from ..limits.limited_sums import stop_of_sums

MAX_VARIABLES = 20
"""Maximum number of variables for enumeration.

Sums of 2^20 weights do not overflow, since a weight is at most exp(600). An instance takes a fifth
of a millisecond.
"""

NANOSECONDS = 0.2  # per state


class RunningSums(NamedTuple):
    """Weights exp(score - reference) of all states, added up block by block.

    Attributes:
        coefficients: `[batch, n + e]`, unary and pairwise scores.
        references: `[batch]`, the score whose weight is 1.
        blocks: `[batch, 2^depth]`, the sums of the weights up to the end of each block.
        weights: `[batch, 2^depth]`, the sum of each block, which has more digits than differences
            of `blocks`.
    """

    coefficients: np.ndarray
    references: Scores
    blocks: np.ndarray
    weights: np.ndarray


def infer(
    unary: Unary, pairwise: Pairwise, edges: Edges, threads: int | None = None
) -> tuple[Scores, np.ndarray, RunningSums]:
    """Return log Z `[batch]`, the marginals `[batch, n + e]`, and the running sums for `draw`.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        edges: `[e, 2]`, distinct pairs i < j.
        threads: maximum number of threads; None for all cores.
    """
    batch, n = unary.shape
    coefficients = np.concatenate((unary, pairwise), axis=1, dtype=np.float64)
    coefficients = np.ascontiguousarray(coefficients)  # of columns, where both are
    blocks = (batch, 1 << max(n - kernels.BLOCK_BITS, 0))
    sums = RunningSums(coefficients, np.empty(batch), np.empty(blocks), np.empty(blocks))
    log_z = np.empty(batch)
    marginals = np.empty_like(coefficients)
    work = NANOSECONDS * (2**n + 2**12)
    with stop_of_sums(1e-9 * work * batch) as stop:
        kernel = partial(kernels.infer, edges, n, stop)
        over_slices(kernel, *sums, log_z, marginals, nanoseconds=work, threads=threads)
    return log_z, marginals, sums
