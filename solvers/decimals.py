"""Convert numbers to the decimals that they print as."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from .errors import ProblemError

FLOAT_HOLDS = 2**53
"""Integer up to which float64 holds all integers."""


def decimal_of(number: Any) -> Fraction:
    """Return a number as the decimal that it prints as.

    Raises:
        ProblemError: the number is not finite.

    Example:
        >>> decimal_of(0.1)
        Fraction(1, 10)
    """
    return Fraction(repr(finite(number)))


def finite(number: Any) -> float:
    """Return a number as a float.

    Raises:
        ProblemError: the number is not finite.
    """
    value = float(number)
    if not math.isfinite(value):
        raise ProblemError(f"a coefficient is {value}; coefficients must be finite")
    return value
