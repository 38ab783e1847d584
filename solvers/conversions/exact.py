"""Keep numbers that float64 would round (fractions, decimals, large integers) as fractions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..decimals import FLOAT_HOLDS, finite

EXACT = (int, np.integer, np.longdouble, Fraction, Decimal)
"""Types of numbers that float64 may round."""


@dataclass(frozen=True, eq=False)
class ExactTerms:
    """Numbers of an objective as fractions, in addition to the float64 numbers of its problem.

    Attributes:
        constant: the constant of the objective.
        terms: the other numbers, in the order that the objective defines.
    """

    constant: Fraction
    terms: Sequence[Fraction]

    def value(self, factors: Iterable[int]) -> float:
        """Return the constant plus the sum of the terms times their factors, rounded once.

        Args:
            factors: one number for each term.
        """
        pairs = zip(self.terms, factors, strict=True)
        exact = sum((term * factor for term, factor in pairs if factor), self.constant)
        rounded: float = as_float(exact)
        return rounded

    @cached_property
    def unit(self) -> Fraction:
        """Lower bound on the difference of two assignments whose objectives differ."""
        denominator = math.lcm(*(term.denominator for term in self.terms))
        numerator = math.gcd(*(int(term * denominator) for term in self.terms))
        if numerator:
            return Fraction(numerator, denominator)
        return Fraction(1)

    @cached_property
    def rounded_off(self) -> float:
        """Maximum error in the difference of two objectives if all terms are rounded to float64."""
        errors = sum(abs(term - Fraction(float(term))) for term in self.terms)
        if errors:
            return math.nextafter(2 * float(errors), math.inf)
        return 0.0


def is_rounded(number: Any) -> bool:
    """Return whether a number is finite and equals no float64.

    Example:
        >>> is_rounded(2**53 + 1), is_rounded(Decimal("0.1")), is_rounded(Fraction(1, 2))
        (True, True, False)
    """
    if isinstance(number, float | bool):
        return False
    if isinstance(number, int | np.integer) and abs(int(number)) < FLOAT_HOLDS:
        return False
    if not isinstance(number, EXACT):
        return False
    rounded = as_float(number)
    return math.isfinite(rounded) and fraction_of(number) != Fraction(rounded)


def as_float(number: Any) -> Any:
    """Return an exact number as a float (infinity beyond all floats); anything else unchanged."""
    if not isinstance(number, EXACT):
        return number
    try:
        return float(number)
    except ValueError:  # a signalling NaN of decimal
        return math.nan
    except OverflowError:
        if number > 0:
            return math.inf
        return -math.inf


def fraction_of(number: Any) -> Fraction:
    """Return a number as a fraction; 0 if it is not finite, since no sum of terms contains it."""
    if isinstance(number, np.integer):
        return Fraction(int(number))
    try:
        if isinstance(number, np.floating):
            return Fraction(*number.as_integer_ratio())
        return Fraction(number)
    except (OverflowError, ValueError):
        return Fraction(0)


def binary_of(number: Any) -> Fraction:
    """Return a number as the binary fraction that float64 holds.

    Raises:
        ProblemError: the number is not finite.
    """
    return Fraction(finite(number))


def separated(values: Any) -> tuple[Any, list[Fraction] | None]:
    """Return an array rounded to float64, and its entries as fractions.

    Args:
        values: lists or an array of numbers; or any other object, which is returned unchanged.

    Returns:
        The numbers as float64, and the fractions of all entries in the order of the flat array;
        None in place of the fractions if float64 holds every number.
    """
    entries = _exact_entries(values)
    if entries is None:
        return values, None
    flat = entries.ravel().tolist()
    rounded = np.array([as_float(entry) for entry in flat], np.float64).reshape(entries.shape)
    if not any(map(is_rounded, flat)):
        return rounded, None
    return rounded, [fraction_of(entry) for entry in flat]


def _exact_entries(values: Any) -> np.ndarray | None:
    """Return numbers as an array of objects if some of them are exact; else None."""
    if hasattr(values, "index") and hasattr(values, "to_numpy"):  # a pandas table
        values = values.to_numpy()
    if isinstance(values, np.ndarray):
        may_hold_exact = _may_round(values.dtype)
    else:
        may_hold_exact = isinstance(values, list | tuple)
    if not may_hold_exact:
        return None
    try:
        array = np.array(values, dtype=object)
    except (ValueError, TypeError, RuntimeError):  # unequal lengths, or tensors not on the host
        return None
    if _has_exact_numbers(array.ravel().tolist()):
        return array
    return None


def _has_exact_numbers(entries: list[Any]) -> bool:
    """Return whether these are numbers, and float64 would round some of them."""
    if not all(isinstance(one, int | float | np.number | Fraction | Decimal) for one in entries):
        return False
    return any(isinstance(one, Fraction | Decimal) or is_rounded(one) for one in entries)


def _may_round(kind: np.dtype) -> bool:
    """Return whether float64 may round the numbers of an array."""
    return kind.kind in "iuO" or (kind.kind == "f" and kind.itemsize > 8)


def floats(numbers: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a dict with its exact numbers rounded to floats."""
    return {name: as_float(number) for name, number in numbers.items()}


def by_places(values: Any) -> Any:
    """Return a list or matrix as a dict of its places if float64 would round its numbers.

    Zeros of a matrix are left out. Any other object is returned unchanged.
    """
    array = None
    if isinstance(values, list | tuple | np.ndarray):
        array = _exact_entries(values)
    if array is None:
        return values
    if array.ndim == 1:
        return dict(enumerate(array.tolist()))
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        return values
    places: dict[Hashable, Any] = {(i, i): array[i, i] for i in range(len(array))}
    places.update({place: number for place, number in np.ndenumerate(array) if _counts(number)})
    return places


def _counts(number: Any) -> bool:
    """Return whether a number is not 0. A signalling NaN, which cannot be compared, counts."""
    return bool(as_float(number) != 0 or fraction_of(number))
