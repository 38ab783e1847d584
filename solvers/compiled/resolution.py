"""What the scores of an instance are whole multiples of, where rounding would hide differences of that size.

A float64 sum of whole multiples of a unit is exact while it stays below 2^53 units. So nothing has to be allowed for
rounding there: two scores differ by a unit or not at all. Beyond that a sum loses units.
"""

from __future__ import annotations

import math

import numpy as np

from . import jit
from .plain import plain

EXACT_UNITS = 2.0**50
"""Sums of so many units are exact, and so are those of their quarters, of which minimum cuts are made."""

SMALL_UNITS = 2.0**33
"""If the smallest score is at most so many units, and most scores are short, they are no real numbers."""

SHORT, MOST_SHORT = 2.0**47, 0.75
"""A short score is at most so many times its last binary digit, as few real numbers are; and the share of these."""

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
        The unit where all sums are exact; minus infinity where they are not, although the scores have few digits;
        infinity for all other instances, such as those of real numbers.
    """
    digits = DOUBLE if first.dtype == np.float64 else SINGLE
    arrays = plain(first), plain(second), plain(magnitude)
    if not _suspicious(*arrays, factor, digits):
        return None
    units, least, short = (np.empty(len(magnitude)) for _ in range(3))
    _find_units(*arrays, factor, digits, units, least, short)
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
    """Whether all scores are whole multiples, up to their own rounding, of a power of ten of at most `most`."""
    top = math.floor(math.log10(least))
    for exponent in range(top, top - DECIMALS - 1, -1):  # the largest of all such powers decides
        if not _multiples(np.array([least]), exponent):
            continue  # as for real numbers, whose other scores nobody looks at
        if all(_multiples(part, exponent) for part in scores):
            return 10.0**exponent <= most
    return False


def _multiples(scores: np.ndarray, exponent: int) -> bool:
    """Whether scores are whole multiples of a power of ten, up to their own rounding."""
    values = np.abs(scores[np.isfinite(scores)].astype(np.float64))
    multiples = values / 10.0**exponent if exponent >= 0 else values * 10.0**-exponent
    return bool((np.abs(multiples - np.rint(multiples)) <= 4 * DOUBLE * multiples).all())


@jit.strict
def _suspicious(first, second, magnitude, factor, digits):
    """Whether rounding could confuse the scores of an instance."""
    found = False
    for b in range(len(magnitude)):
        if _is_suspicious(first, second, b, magnitude[b], factor, digits):
            found = True
            break
    return found


@jit.strict
def _find_units(first, second, magnitude, factor, digits, units, least, short):
    """Sets the largest power of two that divides all scores, the smallest absolute score and the share of short ones.

    Each is `[batch]`. The first two are infinity for instances whose scores rounding does not confuse.
    """
    for b in range(len(magnitude)):
        units[b], least[b], short[b] = np.inf, np.inf, 0.0
        if _is_suspicious(first, second, b, magnitude[b], factor, digits):
            row = b if second.shape[0] > 1 else 0
            least[b] = min(_least(first, b), _least(second, row))
            units[b] = min(_last_digit(first, b, 0.0), _last_digit(second, row, 0.0))
            few, some = _count_short(first, b)
            more, others = _count_short(second, row)
            short[b] = (few + more) / (some + others)


@jit.strict_inner
def _is_suspicious(first, second, b, magnitude, factor, digits):
    """Whether rounding could confuse the scores of instance b: a quick test, which nearly all fail.

    A unit divides all scores, so the smallest of them bounds it from above, and so does the last digit of any. Real
    numbers fail by the last digit of the first score that is looked at.
    """
    row = b if second.shape[0] > 1 else 0
    least = min(_least(first, b), _least(second, row))
    most = 2.0 * factor * magnitude  # rounding reaches no larger unit
    if digits * least > most or least == np.inf:
        return False
    if least * LEAST_DECIMAL <= most:
        return True
    useful = min(magnitude / EXACT_UNITS, least / SMALL_UNITS)
    unit = _last_digit(first, b, useful)
    if unit > 0.0:
        unit = min(unit, _last_digit(second, row, useful))
    return 0.0 < unit <= most


@jit.strict_inner
def _least(scores, row):
    """The smallest absolute score of a row that is not zero."""
    least = np.inf
    for k in range(scores.shape[1]):
        value = abs(np.float64(scores[row, k]))
        if 0.0 < value < least:
            least = value
    return least


@jit.strict_inner
def _count_short(scores, row):
    """How many scores of a row are short, and how many are neither zero nor forbidden."""
    short = count = 0
    for k in range(scores.shape[1]):
        value = np.float64(scores[row, k])
        if value == 0.0 or value == -np.inf:
            continue
        count += 1
        fraction = math.frexp(value)[0]
        whole = np.int64(math.ldexp(fraction, 53))
        if abs(whole) <= SHORT * (whole & -whole):
            short += 1
    return short, count


@jit.strict_inner
def _last_digit(scores, row, useful):
    """The largest power of two that divides all scores of a row; 0 where it is below `useful`."""
    least = np.inf
    for k in range(scores.shape[1]):
        value = np.float64(scores[row, k])
        if value == 0.0 or value == -np.inf:
            continue
        fraction, exponent = math.frexp(value)
        whole = np.int64(math.ldexp(fraction, 53))
        own = math.ldexp(np.float64(whole & -whole), exponent - 53)
        if own < useful:
            return 0.0
        least = min(least, own)
    return least
