"""Scale scores for backends that prove within absolute tolerances, and correct their bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...problems.problem import Problem
from .units import Units, to_units

if TYPE_CHECKING:
    from jaxtyping import Float

TOLERANCE = 1e-9
"""Tolerance on reduced costs, constraints and integrality, in the scaled scores."""

WHOLE_BITS = 24
"""Bits of a sum of whole scores; up to 2^24, tolerances change it by at most 2% of a unit."""

REAL_BITS = 23
"""Bits of the sum of other scores, which is 2^22 or more.

A tolerance per coefficient is then within half of `Problem.rounding`."""

MARGIN = 0.25
"""Share of a unit by which a backend's bound on whole scores may be wrong."""


@dataclass(frozen=True, eq=False)
class FloatingPoint:
    """One instance, scaled so that tolerances of 1e-9 do not hide relevant differences.

    Scores become whole numbers if they are multiples of a common unit that add up to at most 2^24.
    Then a better score is better by 1, far above any tolerance. Other scores are divided by a power
    of two, which is exact. A tolerance for each coefficient is then below the rounding of a float64
    sum.

    Attributes:
        unary: `[n]`.
        pairwise: `[e]`.
        whole: whether all scores are whole numbers.
        units: the unit of the scores.
    """

    unary: Float[np.ndarray, "n"]
    pairwise: Float[np.ndarray, "e"]
    whole: bool
    units: Units

    @classmethod
    def of(cls, problem: Problem) -> FloatingPoint:
        """Return the scaled scores of a host `problem` of a single instance.

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
        if self.whole:
            return 0.5
        return 0.0

    def bound(self, reported: float) -> float:
        """Return the bound on true scores, from the bound that a backend reports on scaled scores.

        A tolerance of 1e-9 on reduced costs proves the bound for scores that differ by 1e-9 each.
        So it holds for the exact scores within 1e-9 per variable and pair, plus 1e-9 for pruning
        near the incumbent.
        """
        if not math.isfinite(reported):
            return math.inf
        if self.whole:
            return self.units.upper_bound(math.floor(reported + MARGIN) + self.units.error)
        raised = reported + TOLERANCE * (len(self.unary) + len(self.pairwise) + 1)
        return self.units.upper_bound(math.nextafter(raised, math.inf))
