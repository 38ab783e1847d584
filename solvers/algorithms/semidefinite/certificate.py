"""Prove a bound on the weight of a cut by a diagonal, whatever the accuracy of its vectors.

The multipliers of odd cycles leave a residual r, in whole numbers (`cycle_cuts.certificate`). If
diag(d) + R is positive semidefinite, where R is the symmetric matrix of r, then for every cut

    r x  =  1/2 sum_e r_e - 1/2 sum_e r_e s_i s_j  <=  1/2 sum_e r_e + 1/4 sum_i d_i.

A Cholesky factor L of B = diag(d) + R proves this in floating point. As B = L L' + E, the smallest
eigenvalue of B is at least -|E|, and |E| is at most the Frobenius norm of what the product L L'
leaves, plus the rounding error of this product. That error is at most gamma sum_i |L_i|^2, since a
sum of n products in any order has an error of at most gamma times the sum of their magnitudes. So
nothing depends on how a library factorises, and d grows by the bound on |E|.

References:
    Rump (2006), Verification of positive definiteness.
    Higham (2002), Accuracy and stability of numerical algorithms, section 3.1.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from ..cycle_cuts.certificate import Certificate

ROUNDOFF = 2.0**-53
"""Largest relative error of a rounded operation."""

FIRST_SHIFT = 1e-7
"""First shift of d, relative to its mean."""

SHIFTED = 4.0
"""Factor between two shifts."""

MOST_SHIFTS = 20
"""Maximum number of shifts that are tried."""

SAFETY = 1.0 + 2.0**-20
"""Factor that covers the rounding of norms of positive numbers."""


def proved_diagonal(matrix: np.ndarray, diagonal: np.ndarray) -> np.ndarray | None:
    """Return d `[n]` with diag(d) + R positive semidefinite, near a diagonal; None without proof.

    Args:
        matrix: `[n, n]` R, symmetric, with a zero diagonal; a copy is factorised.
        diagonal: `[n]`.
    """
    if not np.isfinite(diagonal).all():
        return None
    mean = max(float(diagonal.mean()), float(np.abs(matrix).max(initial=0.0)))
    # R = 0 is positive semidefinite as it is.
    if mean == 0.0:
        return np.zeros_like(diagonal)
    # At the optimum the matrix is singular, so rounding alone can make the factorisation fail.
    shift = FIRST_SHIFT * mean
    for _ in range(MOST_SHIFTS):
        if (proved := factorised(matrix, diagonal + shift)) is not None:
            # The bound is the sum of the diagonal, so half the shift is worth one more attempt.
            closer = factorised(matrix, diagonal + shift / 2)
            if closer is None:
                return proved
            return closer
        shift *= SHIFTED
    return None


def factorised(matrix: np.ndarray, diagonal: np.ndarray) -> np.ndarray | None:
    """Return the diagonal plus the errors of its Cholesky factor; None if there is no factor.

    Args:
        matrix: `[n, n]` R, symmetric, with a zero diagonal.
        diagonal: `[n]`.
    """
    n = len(diagonal)
    whole = matrix.copy()
    np.fill_diagonal(whole, diagonal)
    try:
        factor = np.linalg.cholesky(whole)
    except np.linalg.LinAlgError:
        return None
    # The rounding error of L L' is at most gamma times the squared Frobenius norm of L.
    gamma = 2.0 * (n + 4) * ROUNDOFF
    size = SAFETY * float(np.vdot(factor, factor))
    # L L' is positive semidefinite, so no eigenvalue of the matrix is below minus the norm of
    # the residual.
    whole -= factor @ factor.T
    left = SAFETY * float(np.linalg.norm(whole))
    error = SAFETY * (left + gamma * size)
    if not error < math.inf:
        return None
    # Rounded up, so that the sum itself proves no less.
    return np.nextafter(diagonal + error, math.inf)


def weight_bound(
    certificate: Certificate, weights: np.ndarray, unit: float, diagonal: np.ndarray
) -> int:
    """Return the largest whole weight of a cut that the diagonal allows.

    Args:
        certificate: of the odd cycles, with the residual.
        weights: `[m]`, the residual in floating point, in units of `unit / certificate.scale`.
        unit: a power of two.
        diagonal: `[n]` d, with diag(d) + R positive semidefinite for the matrix R of `weights`.
    """
    residual = certificate.residual
    cycles = int((certificate.multipliers * certificate.cycles.right_sides).sum())
    constant = Fraction(2 * cycles + sum(residual.tolist()), 2)
    total = math.nextafter(math.fsum(diagonal), math.inf)
    # Whole numbers above 2^53 were rounded to floats; x_e is at most 1, and s_i s_j at least -1.
    rounded = ROUNDOFF * math.fsum(np.abs(weights)) * (1.0 + 2.0**-50)
    spread = Fraction(unit) * (Fraction(total) / 4 + Fraction(rounded))
    return math.floor((constant + spread) / certificate.scale)
