"""Numbers that no float64 equals: fractions, decimals and large integers, kept as fractions."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

WHOLE = 2**53
"""Integers below it are float64 numbers."""


@dataclass(frozen=True, eq=False)
class ExactTerms:
    """The terms of a quadratic objective as fractions, beside the float64 numbers of its problem.

    Attributes:
        constant: of the objective.
        linear: `[n]`.
        weights: `[e]`, in the order of the pairs of the objective.
    """

    constant: Fraction
    linear: Sequence[Fraction]
    weights: Sequence[Fraction]

    def value(self, v: Sequence[int], pairs: np.ndarray) -> float:
        """Return the objective of the values `v [n]`, rounded once."""
        terms = [weight * value for weight, value in zip(self.linear, v, strict=True)]
        for weight, (i, j) in zip(self.weights, pairs.tolist(), strict=True):
            terms.append(weight * v[i] * v[j])
        value: float = as_float(self.constant + sum(terms))
        return value

    @property
    def unit(self) -> Fraction:
        """The objectives of two assignments are equal or differ by at least so much."""
        terms = [*self.linear, *self.weights]
        denominator = math.lcm(*(term.denominator for term in terms))
        numerator = math.gcd(*(int(term * denominator) for term in terms))
        return Fraction(numerator, denominator) if numerator else Fraction(1)

    @property
    def rounded_off(self) -> float:
        """What rounding all terms to float64 can change in the difference of two objectives."""
        terms = [*self.linear, *self.weights]
        errors = sum(abs(term - Fraction(float(term))) for term in terms)
        return math.nextafter(2 * float(errors), math.inf) if errors else 0.0


def is_rounded(number: Any) -> bool:
    """Return whether a number is finite and equals no float64.

    Example:
        >>> is_rounded(2**53 + 1), is_rounded(Decimal("0.1")), is_rounded(Fraction(1, 2))
        (True, True, False)
    """
    if isinstance(number, float | bool):
        return False
    if isinstance(number, int | np.integer) and abs(int(number)) < WHOLE:
        return False
    if not isinstance(number, int | np.integer | Fraction | Decimal):
        return False
    rounded = as_float(number)
    return math.isfinite(rounded) and fraction_of(number) != Fraction(rounded)


def as_float(number: Any) -> Any:
    """Return an exact number as a float; infinity beyond all floats, and anything else as it is."""
    if not isinstance(number, int | Fraction | Decimal):
        return number
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def fraction_of(number: Any) -> Fraction:
    """Return a finite number as a fraction."""
    return Fraction(int(number)) if isinstance(number, np.integer) else Fraction(number)


def floats(numbers: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a dict with its exact numbers rounded to floats."""
    return {name: as_float(number) for name, number in numbers.items()}


def by_places(values: Any) -> Any:
    """Return a list or matrix as a dict of its places if float64 would round its numbers.

    Zeros of a matrix are left out. Anything else comes back as it is.
    """
    if not isinstance(values, list | tuple | np.ndarray):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind not in "iuO":
        return values
    try:
        array = np.array(values, dtype=object)
    except ValueError:  # of unequal lengths
        return values
    entries = array.ravel().tolist()
    numbers = all(isinstance(one, int | float | np.number | Fraction | Decimal) for one in entries)
    special = any(isinstance(one, Fraction | Decimal) or is_rounded(one) for one in entries)
    if not numbers or not special:
        return values
    if array.ndim == 1:
        return dict(enumerate(entries))
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        return values
    places: dict[Hashable, Any] = {(i, i): array[i, i] for i in range(len(array))}
    places.update({place: number for place, number in np.ndenumerate(array) if number != 0})
    return places
