"""What the scores of an instance are whole multiples of, where rounding would hide differences of that size.

A float64 sum of whole multiples of a unit is exact while it stays below 2^53 units. So nothing has
to be allowed for rounding there: two scores differ by a unit or not at all. Beyond that a sum loses
units.
"""

from __future__ import annotations

import math

import numpy as np

from ._kernels import common as kernels
from .plain import plain

EXACT_UNITS = 2.0**50
"""Sums of so many units are exact, and so are those of their quarters, of which minimum cuts are made."""

SMALL_UNITS = 2.0**33
"""If the smallest score is at most so many units, and most scores are short, they are no real numbers."""

MOST_SHORT = 0.75
"""The share of scores with few binary digits from which on they are no real numbers."""

DECIMALS = 4
"""Digits of the smallest score, at most, by which decimals are recognised."""

LEAST_DECIMAL = 10.0**-DECIMALS

SINGLE, DOUBLE = 2.0**-23, 2.0**-52
"""A score is a whole multiple of so much of itself, at least, in float32 and float64."""


def resolutions(
    first: np.ndarray, second: np.ndarray, magnitude: np.ndarray, factor: float
) -> np.ndarray | None:
    """Return the unit of each instance `[batch]` whose scores rounding could confuse; None where there is none.

    Args:
        first: scores `[batch, m]`, float32 or float64; minus infinity counts as no score.
        second: the other scores, `[batch, m]`, or `[1, m]` for all instances.
        magnitude: `[batch]`, no sum of scores that is ever taken is larger.
        factor: the part of the magnitude that is allowed for rounding.

    Returns:
        The unit where all sums are exact; minus infinity where they are not, although the scores
        have few digits; infinity for all other instances, such as those of real numbers.
    """
    digits = DOUBLE if first.dtype == np.float64 else SINGLE
    arrays = plain(first), plain(second), plain(magnitude)
    if not kernels.suspicious(*arrays, factor, digits):
        return None
    units, least, short = (np.empty(len(magnitude)) for _ in range(3))
    kernels.find_units(*arrays, factor, digits, units, least, short)
    rounding = factor * magnitude
    few_digits = (least <= SMALL_UNITS * units) & (short >= MOST_SHORT)
    found = _classified(units, magnitude, rounding, few_digits)
    for b in np.flatnonzero((2 * rounding >= least * LEAST_DECIMAL) & (found == math.inf)).tolist():
        rows = [part[b if len(part) > 1 else 0] for part in (first, second)]
        if _decimals(rows, float(least[b]), 2 * float(rounding[b])):
            found[b] = -math.inf
    return None if (found == math.inf).all() else found


def _classified(
    unit: np.ndarray, magnitude: np.ndarray, rounding: np.ndarray, few_digits: np.ndarray
) -> np.ndarray:
    """Units, minus infinity and infinity as `resolutions` returns them, by the units of the scores; 0 for none."""
    confused = (unit > 0) & (unit < math.inf) & (2 * rounding >= unit)
    exact = confused & (magnitude <= EXACT_UNITS * unit)
    lossy = confused & ~exact & few_digits
    return np.where(exact, unit, np.where(lossy, -math.inf, math.inf))


def _decimals(scores: list[np.ndarray], least: float, most: float) -> bool:
    """Return whether all scores are multiples of one power of ten, which is at most `most`.

    A score counts as a multiple if it is one up to its own rounding.
    """
    top = math.floor(math.log10(least))
    for exponent in range(top, top - DECIMALS - 1, -1):  # the largest of all such powers decides
        if not _multiples(np.array([least]), exponent):
            continue  # the least score decides alone that these are real numbers
        if all(_multiples(part, exponent) for part in scores):
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
