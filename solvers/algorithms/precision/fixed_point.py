"""Represent scores as integers, for backends that certify optimality over integers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import States
from ...problems.problem import EPSILON, Problem
from .integers import LEAST_EXPONENT, to_integers

if TYPE_CHECKING:
    from jaxtyping import Float, Int

TOTAL_BITS = 54
"""Bits of the sum of the magnitudes of an instance's integers."""


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Integer scores, with a separate unit for each instance.

    With unit = 2^(ceil(log2(magnitude)) - 54) the integers of an instance add up to slightly more
    than 2^54 at most. Rounding moves a score by at most (n + e)/2 units < `Problem.rounding` / 8,
    so a proof over these integers is a proof at float64.

    Attributes:
        unary: `[batch, n]`.
        pairwise: `[batch, e]`.
        edges: `[e, 2]`.
        unit: `[batch]`, a power of two: score ~ unit * integer score.
        error: `[batch]`, how far the rounding of the coefficients can move a score.
    """

    unary: Int[np.ndarray, "batch n"]
    pairwise: Int[np.ndarray, "batch e"]
    edges: Int[np.ndarray, "e 2"]
    unit: Float[np.ndarray, "batch"]
    error: Float[np.ndarray, "batch"]

    @classmethod
    def of(cls, problem: Problem) -> FixedPoint:
        """Return the integer problem of a host `problem`."""
        exponent = np.maximum(np.frexp(problem.magnitude)[1] - TOTAL_BITS, LEAST_EXPONENT)
        unary, unary_moved = to_integers(problem.unary, exponent)
        pairwise, pairwise_moved = to_integers(problem.pairwise, exponent)
        unit = np.ldexp(1.0, exponent)
        # The sums of the changes round down by less than this factor.
        roundings = 1.0 + EPSILON * (problem.n + problem.e)
        error = unit * (roundings * (unary_moved + pairwise_moved))
        return cls(unary, pairwise, problem.edges, unit, error)

    def score(self, z: States) -> Int[np.ndarray, "batch"]:
        """Return the exact integer scores `[batch]` of assignments `[batch, n]`."""
        state = z.astype(np.int64)
        both = state[:, self.edges[:, 0]] * state[:, self.edges[:, 1]]
        total: np.ndarray = (self.unary * state).sum(axis=1) + (self.pairwise * both).sum(axis=1)
        return total

    def flipped(self) -> tuple[FixedPoint, Int[np.ndarray, "batch"]]:
        """Return the integer problem in t = 1 - z, and what its scores `[batch]` lack.

        score(z) = constant + flipped score(t), exactly: a unary score is minus that of z and of
        all its pairs, and pairwise scores are the same. Magnitudes add up to less than 2^56.
        """
        unary = -self.unary
        for end in self.edges.T:
            np.subtract.at(unary.T, end, self.pairwise.T)
        constant: np.ndarray = self.unary.sum(axis=1) + self.pairwise.sum(axis=1)
        return replace(self, unary=unary), constant

    def bound(self, integer_bound: np.ndarray) -> Float[np.ndarray, "batch"]:
        """Return the bounds `[batch]` on true scores, from bounds on integer scores.

        A bound that no float equals is rounded up.

        Args:
            integer_bound: `[batch]`, int64, or whole numbers in float64.
        """
        nearest = integer_bound.astype(np.float64)
        if integer_bound.dtype.kind == "i":
            low = nearest.astype(np.int64) < integer_bound
            nearest = np.where(low, np.nextafter(nearest, np.inf), nearest)
        # The unit is a power of two and at least the smallest float, so the product is exact.
        exact = nearest * self.unit
        above = np.nextafter(exact + self.error, np.inf)
        bound: np.ndarray = np.where(self.error == 0.0, exact, above)
        return bound
