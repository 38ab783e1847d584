"""Check problems and solutions on the host in single passes over their arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._kernels import checks as kernels

FINE = -1
"""The result of a kernel that finds no fault."""


def survey_of(
    unary: np.ndarray, pairwise: np.ndarray, share_of_rounding: float
) -> tuple[np.ndarray, float, float, bool]:
    """Return the magnitudes of scores of float32 or float64, and checks, in one pass.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`, of the same type.
        share_of_rounding: error of a sum of scores, as a share of its magnitude.

    Returns:
        `[2, batch]`, float64, the magnitudes (sums of absolute scores) and the errors of sums of
        scores; the largest magnitude, infinite or NaN where a score is not finite; the lowest
        pairwise score, or 0 if none is negative; and whether rounding could confuse scores (see
        `resolution`).
    """
    sums = np.empty((2, len(unary)))
    try:
        checks = kernels.survey(unary, pairwise, share_of_rounding, sums)
    except TypeError:  # another layout than kernels read, which is rare
        checks = kernels.survey(in_order(unary), in_order(pairwise), share_of_rounding, sums)
    return sums, *checks


class Triangle(NamedTuple):
    """The entries of the matrices of pairwise scores.

    Attributes:
        upper: `[batch, n (n - 1) / 2]`, the entries above the diagonals, row by row.
        used: `[n (n - 1) / 2]` uint8, whether an entry is nonzero in any instance.
        pairs: number of used entries.
        fault: 0 without a fault; 1 if an entry of a diagonal is not zero; 2 if a matrix is neither
            upper triangular nor symmetric.
    """

    upper: np.ndarray
    used: np.ndarray
    pairs: int
    fault: int


def triangle_of(matrices: np.ndarray) -> Triangle:
    """Return the entries of square `matrices [batch, n, n]` of float32 or float64."""
    batch, n, _ = matrices.shape
    size = n * (n - 1) // 2
    upper = np.empty((batch, size), matrices.dtype)
    used = np.empty(size, np.uint8)
    fault, pairs = kernels.read_matrix(in_order(matrices), upper, used)
    return Triangle(upper, used, pairs, fault)


def proof_of(
    unary: np.ndarray,
    pairwise: np.ndarray,
    edges: np.ndarray,
    z: np.ndarray,
    bound: np.ndarray | None,
    rounding: np.ndarray,
    tolerance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """Score the state `z[b]` of every instance b again, and certify it by its bound.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`, of the same type.
        edges: `[e, 2]`, int64.
        z: `[batch, n]`, int8.
        bound: `[batch]`, float64, of the backend; None if the state is its own certificate.
        rounding: `[batch]`, the maximum difference of a score and its bound by rounding alone.
        tolerance: `[batch]`, the maximum gap at which a bound certifies a score.

    Returns:
        `[2, batch]`, float64, the score of each state and a bound on all scores; and `[batch]`,
        whether the bound certifies the state. None if a bound is not one, or if a state contains
        other numbers than 0 and 1.

    Raises:
        TypeError: an array is of another type, or not in C order.
    """
    scores = np.empty((2, len(z)))
    proved = np.empty(len(z), np.bool_)
    fault = kernels.certify(unary, pairwise, edges, z, bound, rounding, tolerance, scores, proved)
    if fault == FINE:
        return (scores, proved)
    return None


def in_order(array: np.ndarray) -> np.ndarray:
    """Return `array` aligned and in C order, for kernels, without a copy if it already is."""
    if not array.size:  # numpy ignores where the array begins, and kernels check it
        return np.empty(array.shape, array.dtype)
    flags = array.flags
    # `carray` implies the other two flags, and most arrays have it, so one check suffices.
    if flags.carray or (flags.c_contiguous and flags.aligned):
        return array
    return np.require(array, requirements=["C", "A"])
