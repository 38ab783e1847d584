"""Find the unit of scores that are whole multiples of it, if rounding hides differences.

A float64 sum of whole multiples of a unit is exact while it stays below 2^53 units. Then no
allowance for rounding is needed, since two scores differ by at least a unit or not at all. Larger
sums lose units.
"""

from __future__ import annotations

import math

import numpy as np

from ._kernels import common as kernels
from .plain import plain

EXACT_UNITS = 2.0**50
"""Number of units up to which sums, also of quarters of a unit (minimum cuts), are exact."""

SMALL_UNITS = 2.0**33
"""Maximum, in units, of the smallest score of scores that do not count as real numbers.

Most of the scores have to be short, too."""

MOST_SHORT = 0.75
"""Least share of scores with few binary digits that do not count as real numbers."""

WHOLE_UNIT = 2.0**-4
"""Smallest unit of scores that count as whole numbers whatever their number of digits.

Quarters occur where Ising models become bits."""

MOST_TELLING = 0.5
"""Least share of scores by which whole numbers are recognised.

A real number of their size would mostly end below the unit, so it tells whole numbers from others.
"""

DECIMALS = 4
"""Maximum number of digits of the smallest score by which decimals are recognised."""

LEAST_DECIMAL = 10.0**-DECIMALS

SINGLE = 2.0**-23
"""Every float32 score is a whole multiple of at least this share of itself."""

DOUBLE = 2.0**-52
"""Every float64 score is a whole multiple of at least this share of itself."""


def resolutions(
    first: np.ndarray, second: np.ndarray, magnitude: np.ndarray, factor: float
) -> np.ndarray | None:
    """Return the unit `[batch]` of each instance whose scores rounding could confuse; None if none.

    Args:
        first: scores `[batch, m]`, float32 or float64; minus infinity counts as no score.
        second: the other scores, `[batch, m]`, or `[1, m]` for all instances.
        magnitude: `[batch]`, an upper bound on all sums of scores.
        factor: the share of the magnitude that is allowed for rounding.

    Returns:
        The unit where all sums are exact; minus infinity where they are not, although the scores
        have few digits; infinity for all other instances, such as those with real numbers.
    """
    digits = SINGLE
    if first.dtype == np.float64:
        digits = DOUBLE
    arrays = plain(first), plain(second), plain(magnitude)
    if not kernels.suspicious(*arrays, factor, digits):
        return None
    units, least, short, telling = (np.empty(len(magnitude)) for _ in range(4))
    kernels.find_units(*arrays, factor, digits, units, least, short, telling)
    rounding = factor * magnitude
    with np.errstate(over="ignore"):  # infinity is larger than any score, as it should be
        few_digits = (least <= SMALL_UNITS * units) & (short >= MOST_SHORT)
    whole = (units >= WHOLE_UNIT) & (telling >= MOST_TELLING)
    units = _classified(units, magnitude, rounding, few_digits | whole)
    suspects = np.flatnonzero((2 * rounding >= least * LEAST_DECIMAL) & (units == math.inf))
    suspects = suspects[_may_be_decimal(least[suspects])]
    for b in suspects.tolist():
        # Scores that all instances share have a single row, the last one.
        rows = [scores[min(b, len(scores) - 1)] for scores in (first, second)]
        if _decimals(rows, float(least[b]), 2 * float(rounding[b])):
            units[b] = -math.inf
    if (units == math.inf).all():
        return None
    return units


def _classified(
    unit: np.ndarray, magnitude: np.ndarray, rounding: np.ndarray, whole: np.ndarray
) -> np.ndarray:
    """Return the units that `resolutions` returns, from the units of the scores; 0 for none."""
    confused = (unit > 0) & (unit < math.inf) & (2 * rounding >= unit)
    with np.errstate(over="ignore"):
        exact = confused & (magnitude <= EXACT_UNITS * unit)
    lossy = confused & ~exact & whole
    return np.where(exact, unit, np.where(lossy, -math.inf, math.inf))


def _may_be_decimal(least: np.ndarray) -> np.ndarray:
    """Return False for each positive number that `_decimals` surely rejects.

    Like `_decimals`, it checks whether the number is a multiple of a power of ten. It allows one
    more power at both ends and twice the rounding, since NumPy's powers and logarithms may round
    differently.
    """
    top = np.floor(np.log10(least))
    exponents = top[:, None] - np.arange(-1, DECIMALS + 2)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        # Two factors, since one power of ten may exceed the largest double.
        half = np.clip(-exponents, -300, 300)
        multiples = least[:, None] * 10.0**half * 10.0 ** (-exponents - half)
        whole = np.abs(multiples - np.rint(multiples)) <= 8 * DOUBLE * multiples
    possible: np.ndarray = np.logical_or.reduce(whole | ~np.isfinite(multiples), axis=1)
    return possible


def _decimals(scores: list[np.ndarray], least: float, most: float) -> bool:
    """Return whether all scores are multiples of one power of ten, which is at most `most`.

    A score counts as a multiple if it is one up to its own rounding.
    """
    top = math.floor(math.log10(least))
    for exponent in range(top, top - DECIMALS - 1, -1):  # the largest of these powers decides
        if not _multiples(np.array([least]), exponent):
            continue  # the least score alone shows that these are real numbers
        if all(_multiples(row, exponent) for row in scores):
            return 10.0**exponent <= most
    return False


def _multiples(scores: np.ndarray, exponent: int) -> bool:
    """Return whether each score is a multiple of a power of ten, up to its own rounding."""
    values = np.abs(scores[np.isfinite(scores)].astype(np.float64))
    with np.errstate(over="ignore", invalid="ignore"):
        if exponent >= 0:
            multiples = values / 10.0**exponent
        else:  # two factors, since one power of ten may exceed the largest double
            multiples = values * 10.0 ** min(-exponent, 300) * 10.0 ** max(-exponent - 300, 0)
        whole = np.abs(multiples - np.rint(multiples)) <= 4 * DOUBLE * multiples
    return bool((whole | np.isinf(multiples)).all())
