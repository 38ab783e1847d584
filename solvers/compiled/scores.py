"""Score assignments on the host, with sums in float64.

References:
    Knuth (1997), The art of computer programming, volume 2, section 4.2.2, theorem B: the error of
    a sum.
"""

from __future__ import annotations

import numpy as np

from ._kernels import common as kernels
from .plain import plain


def scores_of(
    unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Return the score `[batch]`, float64, of the state `z[b]` of every instance b.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`.
        edges: `[e, 2]`.
        z: `[batch, n]`, int8 of 0 and 1.
    """
    score = np.empty(len(z))
    kernels.scores(plain(unary), plain(pairwise), plain(edges), plain(z), score)
    return score
