"""Scores of assignments on the host, summed in float64."""

from __future__ import annotations

import numpy as np

from . import jit
from .plain import plain


def scores_of(
    unary: np.ndarray, pairwise: np.ndarray, first: np.ndarray, second: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """`[batch]`, float64: the score of the state `z[b]` of every instance b.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`.
        first: `[e]`, a variable of every pair.
        second: `[e]`, the other.
        z: `[batch, n]`, int8 of 0 and 1.
    """
    score = np.empty(len(z))
    _score(plain(unary), plain(pairwise), first, second, plain(z), score)
    return score


@jit.strict
def _score(unary, pairwise, first, second, z, score):
    for b in range(len(score)):
        total = np.float64(0.0)
        for i in range(unary.shape[1]):
            total += np.float64(unary[b, i]) * z[b, i]
        for k in range(pairwise.shape[1]):
            total += np.float64(pairwise[b, k]) * (z[b, first[k]] & z[b, second[k]])
        score[b] = total
