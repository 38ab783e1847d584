"""Convert constraints to whole numbers, the form that solvers take."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from .algorithms.constrained_search.linear_rows import Constraints
from .algorithms.precision.units import to_units
from .arrays import States
from .constraints import Constraint, listed
from .decimals import decimal_of
from .errors import OptionError, shortened
from .limits.memory import check_memory

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

MOST = 2**53
"""Upper limit of sums of whole coefficients."""

MOST_DIGITS = 15
"""Largest number of digits for which each decimal rounds to a different float."""

FEW = 4
"""Number of coefficients that are read first, since they often show that the sum is too large."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Constraints in whole numbers: low <= matrix z <= high.

    Attributes:
        matrix: `[c, n]`; the magnitudes of a row add up to less than 2^54.
        low: `[c]`, the least allowed sums.
        high: `[c]`, the largest allowed sums.
        names: `[c]`, the names of the constraints in messages.
    """

    matrix: Int[np.ndarray, "c n"]
    low: Int[np.ndarray, "c"]
    high: Int[np.ndarray, "c"]
    names: tuple[str, ...]

    @classmethod
    def of(cls, constraints: Any, n: int) -> Rows:
        """Convert the constraints of a problem with n variables.

        Raises:
            OptionError: `constraints` are not constraints, name a variable that does not exist, or
                list coefficients of more or fewer variables.
            ProblemTooLargeError: their matrix takes more than the free memory.
        """
        listed_constraints = listed(constraints)
        for constraint in listed_constraints:
            if not isinstance(constraint, Constraint):
                raise OptionError(
                    f"constraints are made by solvers.constraints; got {shortened(constraint)}"
                )
            constraint.check_length(n)
        # The rows, and the array that is made of them.
        check_memory(
            f"the matrix of {len(listed_constraints)} constraints over {n} variables",
            2 * len(listed_constraints) * n,
            "pass fewer constraints, such as one sum in place of several implies",
        )
        rows = [_row(constraint, n) for constraint in listed_constraints]
        if not rows:
            return cls(np.zeros((0, n), np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), ())
        matrix, low, high = (np.array(column) for column in zip(*rows, strict=True))
        return cls(matrix, low, high, tuple(constraint.name for constraint in listed_constraints))

    @classmethod
    def like(cls, constraints: Constraints) -> Rows:
        """Return constraints that already have whole numbers."""
        return cls(constraints.matrix, constraints.low, constraints.high, constraints.names)

    def __len__(self) -> int:
        return len(self.names)

    @property
    def magnitude(self) -> int:
        """The largest sum of magnitudes of a row."""
        return int(np.abs(self.matrix).sum(axis=1).max(initial=0))

    def satisfied(self, z: States) -> Bool[np.ndarray, "states"]:
        """Return whether each of the states `[states, n]` satisfies all constraints, `[states]`."""
        sums = z.astype(np.int64) @ self.matrix.T
        return np.asarray(((sums >= self.low) & (sums <= self.high)).all(axis=1))

    def with_values(self, values: np.ndarray) -> Rows:
        """Return these constraints, and equations for the values `[n]` that are not -1."""
        fixed = np.flatnonzero(values >= 0)
        unit = np.eye(len(values), dtype=np.int64)[fixed]
        required = values[fixed].astype(np.int64)
        return Rows(
            np.concatenate((self.matrix, unit)),
            np.concatenate((self.low, required)),
            np.concatenate((self.high, required)),
            (*self.names, *(f"fix {i}" for i in fixed.tolist())),
        )

    def without(self, z: np.ndarray) -> Rows:
        """Return these constraints, and a constraint that excludes the state `z [n]`."""
        ones = int(z.sum())
        return Rows(
            np.concatenate((self.matrix, 1 - 2 * z.astype(np.int64)[None])),
            np.append(self.low, 1 - ones),
            np.append(self.high, len(z) - ones),
            (*self.names, "another state"),
        )

    def as_count(self) -> Count | None:
        """Return these constraints as a count of one group and fixed variables, or None."""
        n = self.matrix.shape[1]
        values = np.full(n, -1, np.int8)
        group = np.zeros(n, bool)
        low = 0
        high = n
        # Invariant: the rows so far say that `low` to `high` variables of `group` are 1, and that
        # variables have the `values` that are not -1.
        for terms, least, most in self.terms():
            weights = {weight for _, weight in terms}
            members = [i for i, _ in terms]
            if len(weights) > 1:
                return None
            # With one weight the row bounds the number of its members that are 1.
            first, last = _count_ends(min(weights, default=1), least, most)
            if len(members) > 1:
                if group.any() and set(np.flatnonzero(group)) != {*members}:
                    return None
                group[members] = True
                low = max(low, first)
                high = min(high, last)
            elif not _fix_member(values, members, first, last):
                low = max(low, 1)
                high = min(high, 0)
        return Count(group, low, min(high, int(group.sum())), values)

    def terms(self) -> Iterator[tuple[list[tuple[int, int]], int, int]]:
        """Yield each constraint as ([(variable, coefficient)], low, high)."""
        for row, low, high in zip(self.matrix, self.low.tolist(), self.high.tolist(), strict=True):
            used = np.flatnonzero(row)
            yield list(zip(used.tolist(), row[used].tolist(), strict=True)), low, high


def _count_ends(weight: int, least: int, most: int) -> tuple[int, int]:
    """Return the ends of a count whose product with `weight` is between `least` and `most`."""
    if weight > 0:
        ends = (least, most)
    else:
        ends = (most, least)
    return math.ceil(Fraction(ends[0], weight)), math.floor(Fraction(ends[1], weight))


def _fix_member(values: np.ndarray, members: list[int], least: int, most: int) -> bool:
    """Write the value of the only member of a row into `values`, if the row allows no other.

    Returns:
        Whether the row, which has one member or none, can be satisfied.
    """
    if not members:
        return least <= 0 <= most
    member = members[0]
    allowed = [
        value for value in (0, 1) if least <= value <= most and values[member] in (-1, value)
    ]
    if len(allowed) == 1:
        values[member] = allowed[0]
    return bool(allowed)


@dataclass(frozen=True, eq=False)
class Count:
    """The range of the number of ones in a group, with some variables fixed.

    Attributes:
        group: `[n]`, whether a variable belongs to the group.
        low: least number.
        high: greatest number; less than `low` if no state satisfies the constraints.
        values: `[n]`, the values of fixed variables, -1 for the others.
    """

    group: Bool[np.ndarray, "n"]
    low: int
    high: int
    values: Int[np.ndarray, "n"]

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the greatest number of ones in the group that the fixed variables allow."""
        values = self.values[self.group]
        return int((values == 1).sum()), int((values != 0).sum())

    @property
    def impossible(self) -> bool:
        """Whether no state has such a count."""
        least, most = self.ends
        return self.low > self.high or self.high < least or self.low > most

    @property
    def implied(self) -> Int[np.ndarray, "n"]:
        """The values `[n]` that are forced, also those of a group of only zeros or ones."""
        least, most = self.ends
        if least < self.high and self.low < most:
            return self.values
        rest = self.group & (self.values < 0)
        return np.where(rest, np.int8(self.high > least), self.values).astype(np.int8)


def _row(constraint: Constraint, n: int) -> tuple[np.ndarray, int, int]:
    """Return a constraint as whole numbers: its row `[n]`, the least and the largest sum."""
    if constraint.coefficients is None:
        places = np.arange(n)
        coefficients = np.ones(n)
    else:
        places = _places(constraint, n)
        coefficients = np.fromiter(constraint.coefficients.values(), np.float64, len(places))
    # The right side is scaled along with the coefficients.
    scaled = _whole_numbers(np.append(coefficients, constraint.right))
    whole = np.zeros(n, np.int64)
    whole[places] = scaled[:-1]
    right = int(scaled[-1])
    # No sum of the row exceeds this, so -most and most impose no limit.
    most = int(np.abs(whole).sum())
    low = -most
    high = most
    if constraint.comparison in (">=", "=="):
        low = right
    if constraint.comparison in ("<=", "=="):
        high = right
    return whole, low, high


def _places(constraint: Constraint, n: int) -> np.ndarray:
    """Return the variables that a constraint names.

    Raises:
        OptionError: it names something else.
    """
    coefficients = constraint.coefficients or {}
    if {*map(type, coefficients)} <= {int}:
        places: np.ndarray = np.array([*coefficients], np.int64)
        if places.max(initial=0) < n:
            return places
    for place in coefficients:
        if isinstance(place, str):
            raise OptionError(
                f"{constraint.name} names {shortened(place)}; the variables of a Problem are "
                f"0 to {n - 1}, and only those of a Conversion have names"
            )
        if isinstance(place, tuple):
            raise OptionError(
                f"{constraint.name} names {place}, a value of a variable of several values; the "
                f"variables of a Problem are 0 to {n - 1}"
            )
        if place >= n:
            raise OptionError(
                f"{constraint.name} names variable {place}; the variables are 0 to {n - 1}"
            )
    return np.array([*coefficients], np.int64)


def _whole_numbers(numbers: np.ndarray) -> np.ndarray:
    """Return decimals as multiples of their common unit, or rounded to 53 bits of their sum."""
    scaled = _decimals(numbers)
    if scaled is None:
        scaled = _fractions(numbers)
    if scaled is None:
        return to_units(numbers).values.astype(np.int64)
    return np.asarray(scaled // max(1, int(np.gcd.reduce(scaled))))


def _decimals(numbers: np.ndarray) -> np.ndarray | None:
    """Return numbers times a power of ten that makes all of them whole; None if none is small.

    Decimals of up to 15 digits differ as floats, so the decimal that rounds to a number is the one
    that Python writes.
    """
    largest = float(np.abs(numbers).max(initial=0.0))
    for digits in range(MOST_DIGITS + 1):
        power = 10.0**digits
        if largest * power >= 10.0**MOST_DIGITS:
            return None
        whole = np.rint(numbers * power)
        if (whole / power == numbers).all():
            if np.abs(whole).sum() >= MOST:
                return None
            return whole.astype(np.int64)
    return None


def _fractions(numbers: np.ndarray) -> np.ndarray | None:
    """Return numbers in their common unit, from the digits that Python writes.

    None if their sum has more than 53 bits.
    """
    # The unit of a few numbers divides that of all, and often shows that the sum is too large.
    few = [decimal_of(number) for number in numbers[numbers != 0][:FEW].tolist()]
    unit = math.lcm(*(number.denominator for number in few))
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    # In floats, the sum or the unit could overflow.
    total = Fraction(math.fsum(np.abs(numbers) / largest)) * Fraction(largest)
    if total * unit >= 2 * MOST:
        return None
    exact = [decimal_of(number) for number in numbers.tolist()]
    unit = math.lcm(*(number.denominator for number in exact))
    whole = [int(number * unit) for number in exact]
    if sum(map(abs, whole)) >= MOST:
        return None
    return np.array(whole, np.int64)
