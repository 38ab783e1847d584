"""Scores of assignments on the host, summed in float64.

References:
    Knuth (1997), The art of computer programming, volume 2, section 4.2.2, theorem B: the error of a sum.
"""

from __future__ import annotations

import numpy as np

from . import jit
from .plain import plain

BLOCK = 16
"""So many terms are summed one by one; what the sum of the blocks loses by rounding is added at its end."""


def scores_of(unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray, z: np.ndarray) -> np.ndarray:
    """`[batch]`, float64: the score of the state `z[b]` of every instance b.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`.
        edges: `[e, 2]`.
        z: `[batch, n]`, int8 of 0 and 1.
    """
    score = np.empty(len(z))
    _score(plain(unary), plain(pairwise), edges, plain(z), score)
    return score


@jit.strict
def _score(unary, pairwise, edges, z, score):
    n, e = unary.shape[1], pairwise.shape[1]
    for b in range(len(score)):
        total = lost = 0.0
        for start in range(0, n, BLOCK):
            part = 0.0
            for i in range(start, min(start + BLOCK, n)):
                part += np.float64(unary[b, i]) * z[b, i]
            total, lost = _added(total, lost, part)
        for start in range(0, e, BLOCK):
            part = 0.0
            for k in range(start, min(start + BLOCK, e)):
                part += np.float64(pairwise[b, k]) * (z[b, edges[k, 0]] & z[b, edges[k, 1]])
            total, lost = _added(total, lost, part)
        score[b] = total + lost


@jit.inlined
def _added(total, lost, part):
    """The sum of total and part, and what its rounding and earlier ones have lost."""
    added = total + part
    virtual = added - total
    return added, lost + ((total - (added - virtual)) + (part - virtual))
