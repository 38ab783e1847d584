"""Scores for backends that prove within absolute tolerances, and what their bounds are then worth."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ...problem import Problem
from .units import Units, to_units

TOLERANCE = 1e-9
"""What backends are told to keep to, in the scaled scores: reduced costs, constraints, integrality."""

WHOLE_BITS = 24
"""Up to a sum of 2^24 whole scores, a tolerance of each leaves a sum within 2% of a unit."""

REAL_BITS = 23
"""Other scores add up to 2^22 or more: there a tolerance a coefficient is within half of `Problem.rounding`."""

MARGIN = 0.25
"""Of a unit: by how much a backend's bound on whole scores may be wrong."""


@dataclass(frozen=True, eq=False)
class FloatingPoint:
    """One instance, scaled so that tolerances of 1e-9 hide nothing that counts.

    Scores that are multiples of a common unit, 2^24 of them in all at most, become whole numbers: a
    better score is better by 1, far above any tolerance. Other scores are divided by a power of
    two, which is exact; there a tolerance for each coefficient is below the rounding of a float64
    sum.

    Attributes:
        unary: `[n]`.
        pairwise: `[e]`.
        whole: whether all are whole numbers.
        units: what one of them is.
    """

    unary: Float[np.ndarray, "n"]
    pairwise: Float[np.ndarray, "e"]
    whole: bool
    units: Units

    @classmethod
    def of(cls, problem: Problem) -> FloatingPoint:
        """The scaled scores of a host `problem` of a single instance.

        Example:
            >>> scores = FloatingPoint.of(Problem.from_arrays([0.5, -1.5], [2.0], edges=[[0, 1]]))
            >>> scores.unary.tolist(), scores.pairwise.tolist(), scores.bound(2.1)
            ([1.0, -3.0], [4.0], 1.0)
        """
        n = problem.n
        scores = np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64)
        units = to_units(scores)
        whole = units.common and math.fsum(np.abs(units.values)) <= 2.0**WHOLE_BITS
        if not whole:
            exponent = int(np.frexp(problem.magnitude[0])[1]) - REAL_BITS
            units = Units(np.ldexp(scores, -exponent), 1.0, exponent, 0.0, False)
        return cls(units.values[:n], units.values[n:], whole, units)

    @property
    def gap(self) -> float:
        """The absolute gap at which a backend may stop."""
        return 0.5 if self.whole else 0.0

    def bound(self, reported: float) -> float:
        """The bound on true scores that the bound which a backend reports on scaled ones is taken for.

        A tolerance of 1e-9 on reduced costs proves the bound for scores that are off by 1e-9 each,
        so it holds for these within 1e-9 for each variable and pair; one more is for pruning near
        the incumbent.
        """
        if not math.isfinite(reported):
            return math.inf
        if self.whole:
            return self.units.upper_bound(math.floor(reported + MARGIN) + self.units.error)
        raised = reported + TOLERANCE * (len(self.unary) + len(self.pairwise) + 1)
        return self.units.upper_bound(math.nextafter(raised, math.inf))
