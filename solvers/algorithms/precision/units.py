"""Express real coefficients as whole numbers of a unit, so that their sums are exact."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...problems.problem import EPSILON

NEARLY_WHOLE = 1e-6
"""Distance from a whole number below which a multiple counts as whole."""

LARGEST_MULTIPLE = 2.0**24
"""Largest multiple of a common unit that is not a power of two."""

ATTEMPTS = 20
"""Maximum number of refinements of a common unit."""


class Units(NamedTuple):
    """Coefficients c = values * unit * 2^exponent, rounded."""

    values: np.ndarray  # [n + e] whole numbers of sum < 2^53
    unit: float
    exponent: int
    error: float  # at least the sum of the roundings, in units
    common: bool  # whether the unit is a common measure rather than the finest that fits

    def upper_bound(self, value: float) -> float:
        """Return `value` units in the scale of the problem, rounded up."""
        product = value * self.unit
        # The product of whole numbers below 2^53 is exact; any other is rounded up.
        if self.unit != math.floor(self.unit) or abs(product) >= 2.0**53:
            product = math.nextafter(product, math.inf)
        with np.errstate(over="ignore", under="ignore"):
            scaled = float(np.ldexp(product, self.exponent))
            # Scaling by a power of two rounds only where the result is subnormal.
            rounded_down = float(np.ldexp(scaled, -self.exponent)) < product
        if rounded_down:
            return math.nextafter(scaled, math.inf)
        return scaled


def _finest(scaled: np.ndarray) -> Units:
    """Use a power of two as the unit, or a multiple of it if nothing is rounded.

    Rounding changes a coefficient by at most half a unit. Unless `common`, the sum S of the
    magnitudes is about 2^52 units or more, so the sum of the changes is 2^-53 (n + e) S at most.
    """
    # Rounding may add half a unit to each coefficient; the total makes room for that.
    total = math.fsum(np.abs(scaled)) * (1.0 + len(scaled) * EPSILON)
    exponent = math.frexp(total)[1] - 53
    exact = np.ldexp(scaled, -exponent)
    values = np.rint(exact)
    error = math.fsum(np.abs(exact - values)) * (1.0 + 4.0 * EPSILON)
    if error > 0.0:
        return Units(values, 1.0, exponent, error, False)
    divisor = float(np.gcd.reduce(values.astype(np.int64)))
    return Units(values / divisor, divisor, exponent, 0.0, True)


def _measure(magnitudes: np.ndarray) -> float | None:
    """Return Euclid's common measure of positive numbers, up to rounding; None if it is small."""
    # A smaller measure would give multiples too large to be told from noise.
    least = magnitudes.max() / LARGEST_MULTIPLE
    measure = float(magnitudes.min())
    for _ in range(ATTEMPTS):
        if measure < least:
            return None
        multiples = magnitudes / measure
        distances = np.abs(multiples - np.rint(multiples))
        worst = int(np.argmax(distances))
        # If all numbers are nearly multiples, the ratio of the sums averages their rounding errors.
        if distances[worst] < NEARLY_WHOLE:
            return math.fsum(magnitudes) / math.fsum(np.rint(multiples))
        # Euclid's algorithm on the measure and the worst
        # number; a tiny remainder counts as rounding.
        larger = float(magnitudes[worst])
        smaller = measure
        while smaller > least:
            remainder = abs(larger - smaller * round(larger / smaller))
            larger = smaller
            smaller = remainder
            if smaller < NEARLY_WHOLE * larger:
                break
        measure = 0.0
        if smaller < NEARLY_WHOLE * larger:
            measure = larger
    return None


def _common(scaled: np.ndarray) -> Units | None:
    """Express decimal data such as 0.1 and 0.3 as whole multiples of a unit; None if impossible."""
    unit = _measure(np.abs(scaled[scaled != 0.0]))
    if unit is None:
        return None
    values = np.rint(scaled / unit)
    total = math.fsum(np.abs(scaled))
    # values * unit rounds by half an EPSILON of itself.
    error = math.fsum(np.abs(scaled - values * unit)) + EPSILON * total
    if error > EPSILON / 4.0 * len(scaled) * total:
        return None
    return Units(values, unit, 0, error / unit * (1.0 + 4.0 * EPSILON), True)


def to_units(coefficients: np.ndarray) -> Units:
    """Return the coefficients in units of a common measure, or in the finest units that fit.

    Args:
        coefficients: `[n + e]`, finite.
    """
    largest = float(np.abs(coefficients).max(initial=0.0))
    if largest == 0.0:
        return Units(coefficients, 1.0, 0, 0.0, True)
    # A power of two scales exactly; afterwards the largest coefficient is in [1/2, 1).
    shift = -math.frexp(largest)[1]
    scaled = np.ldexp(coefficients, shift)
    units = _finest(scaled)
    if not units.common:
        units = _common(scaled) or units
    elif np.ldexp(scaled, -shift).tobytes() != coefficients.tobytes():
        units = units._replace(error=1e-200)  # the part that underflowed is far below a unit
    return units._replace(exponent=units.exponent - shift)
