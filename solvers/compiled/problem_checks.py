"""What has to be known of a problem on the host before any solver gets it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._kernels import checks as kernels

FINE = -1
"""What a kernel returns where it finds no fault."""


def survey_of(
    unary: np.ndarray, pairwise: np.ndarray, share_of_rounding: float
) -> tuple[np.ndarray, float, float, bool]:
    """What one pass over scores of float32 or float64 says of them.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`, of the same type.
        share_of_rounding: by how much of its magnitude a sum of scores may be wrong.

    Returns:
        `[2, batch]`, float64, the magnitudes, sums of absolute scores, and how far sums of scores
        may be wrong; the largest magnitude, infinite or NaN where a score is not finite; the lowest
        pairwise score, 0 where none is negative; and whether rounding could confuse scores (see
        `resolution`).
    """
    sums = np.empty((2, len(unary)))
    try:
        found = kernels.survey(unary, pairwise, share_of_rounding, sums)
    except TypeError:  # as kernels do not read them; most are in order
        found = kernels.survey(in_order(unary), in_order(pairwise), share_of_rounding, sums)
    return sums, *found


class Triangle(NamedTuple):
    """What the matrices of pairwise scores hold.

    Attributes:
        upper: `[batch, n (n - 1) / 2]`: the entries above the diagonals, row by row.
        used: uint8, which of them are not zero everywhere.
        pairs: how many those are.
        fault: 0 where all is well; 1 where an entry of a diagonal is not zero; 2 where the matrices
            are neither upper triangular nor symmetric.
    """

    upper: np.ndarray
    used: np.ndarray
    pairs: int
    fault: int


def triangle_of(matrices: np.ndarray) -> Triangle:
    """What square `matrices [batch, n, n]` of float32 or float64 hold."""
    batch, n, _ = matrices.shape
    size = n * (n - 1) // 2
    upper, used = np.empty((batch, size), matrices.dtype), np.empty(size, np.uint8)
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
    """What the states `z[b]` of every instance b are worth, scored anew.

    Args:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`, of the same type.
        edges: `[e, 2]`, int64.
        z: `[batch, n]`, int8.
        bound: `[batch]`, float64, that was found; None where the state is its own proof.
        rounding: `[batch]`: how far a score and a bound can be apart by rounding alone.
        tolerance: `[batch]`: how far a bound may be above a score that it proves.

    Returns:
        `[2, batch]`, float64, the score of each state and a bound on all scores; `[batch]`, whether
        the bound proves the state. None where a bound is none, or a state has other numbers than 0
        and 1.

    Raises:
        TypeError: an array is of another type, or not in C order.
    """
    scores, proved = np.empty((2, len(z))), np.empty(len(z), np.bool_)
    fault = kernels.certify(unary, pairwise, edges, z, bound, rounding, tolerance, scores, proved)
    return (scores, proved) if fault == FINE else None


def in_order(array: np.ndarray) -> np.ndarray:
    """`array` as kernels read it, aligned and in C order: itself where it is, else a copy."""
    flags = array.flags
    if flags.carray or (
        flags.c_contiguous and flags.aligned
    ):  # the first, which is more, is one look for most
        return array
    return np.require(array, requirements=["C", "A"])
