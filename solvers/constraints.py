"""Add linear constraints over z to a problem: `solve(..., constraints=[...])`.

    rules = [cardinality(3), implies(0, 2), linear([2.5, 1.0, 0.5], "<=", 3.0)]
    solve(unary, pairwise, constraints=rules)

`score`, `bound` and the optimality certificate of a solution then refer to the states that satisfy
all constraints.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .arrays import as_array, is_sparse, to_numpy
from .decimals import FLOAT_HOLDS, decimal_of
from .errors import OptionError, ProblemError, shortened
from .options import is_whole

Comparison: TypeAlias = Literal["<=", ">=", "=="]

Place: TypeAlias = int | tuple[int | str, Any] | str
"""A variable in a constraint.

It is a variable of a `Problem`, or (variable, value) of a `LabelProblem`, which is 1 if the
variable has the value. For a conversion it may also be a name or (name, value) of the original, if
the name is a string.
"""

Number: TypeAlias = float | Fraction | Decimal
"""A coefficient or a right side."""

NUMBERS = (int, float, np.integer, np.floating)
"""Types of coefficients and right sides."""

EXACT = (Fraction, Decimal)
"""Further types of coefficients and right sides: numbers that float64 may round."""

WHOLE = (int, np.integer)
"""Types of variables that are places."""

__all__ = ["Constraint", "at_least", "at_most", "cardinality", "implies", "linear", "one_of"]


@dataclass(frozen=True)
class Constraint:
    """Linear constraint that compares sum_i coefficients_i z_i with a number.

    Attributes:
        coefficients: {variable: coefficient}, or {(variable, value): coefficient} for labels; None
            if every variable has the coefficient 1.
        comparison: "<=", ">=" or "==".
        right: the right side.
        name: the name of the constraint in messages.
        counts: whether the constraint counts the variables that are 1, also if their other value is
            -1; otherwise it adds up values.
        length: the length of the list of coefficients, which a problem must have as its number of
            variables; None if there was no list.
    """

    coefficients: Mapping[Place, float] | None = field(hash=False)
    comparison: Comparison
    right: float
    name: str
    counts: bool = False
    length: int | None = field(default=None, compare=False, repr=False)

    def check_length(self, n: int) -> None:
        """Raise unless a list of coefficients has one for each of n variables.

        Raises:
            OptionError: the list has another length.
        """
        if self.length not in (None, n):
            raise OptionError(
                f"the list of coefficients of {self.name} has length {self.length}, and the "
                f"problem has {n} variables. Pass {n} coefficients, or the coefficients of some "
                "variables as {variable: coefficient}"
            )


def linear(
    coefficients: Sequence[Number] | Mapping[Any, Number], comparison: Comparison, right: Number
) -> Constraint:
    """Require that sum_i coefficients_i z_i is at most, at least or equal to a number.

    Args:
        coefficients: `[n]`, one for each variable of the problem; a scipy sparse row `[1, n]`; or
            {variable: coefficient}, where all other variables have the coefficient 0. For a
            `LabelProblem` {(variable, value): coefficient}. If names are strings, a conversion also
            takes {name: coefficient}, which adds up the values of spins (-1 and 1) and of integers.
            For labels it takes {(name, value): coefficient}. Decimals are exact: 0.1 + 0.2 is
            0.3. So are numbers of type `Fraction` and `Decimal`. All numbers of a constraint are
            whole multiples of one unit. If their sum has more than 53 bits in this unit, they are
            rounded to 53. This happens with many decimals of 17 digits, or with 3e16 next to 1. A
            state that close to the right side may then count as on either side.
        comparison: "<=", ">=" or "==".
        right: the right side.

    Raises:
        OptionError: the comparison is another one, or a number is not finite.

    Example:
        >>> from solvers import solve
        >>> solve([3.0, 2.0, 2.0], constraints=[linear([0.3, 0.1, 0.2], "<=", 0.3)]).z.tolist()
        [0, 1, 1]
    """
    if not isinstance(comparison, str) or comparison not in get_args(Comparison):
        raise OptionError(f"comparison must be '<=', '>=' or '=='; got {shortened(comparison)}")
    length = None
    if isinstance(coefficients, Mapping):
        numbers = _named(coefficients)
    else:
        numbers, length = _listed(coefficients)
    number = _number(right)
    name = f"linear({comparison} {float(number):g})"
    numbers, number = _in_floats(numbers, number)
    return Constraint(numbers, comparison, number, name, length=length)


def cardinality(count: int) -> Constraint:
    """Require that exactly `count` variables are 1.

    Example:
        >>> from solvers import solve
        >>> solve([3.0, -2.0, -5.0], constraints=[cardinality(2)]).z.tolist()
        [1, 1, 0]
    """
    return Constraint(None, "==", _whole(count), f"cardinality({count})", True)


def at_most(count: int, group: Iterable[Place] | None = None) -> Constraint:
    """Require that at most `count` variables, of a group or of all, are 1."""
    return Constraint(_group(group), "<=", _whole(count), f"at_most({count})", True)


def at_least(count: int, group: Iterable[Place] | None = None) -> Constraint:
    """Require that at least `count` variables, of a group or of all, are 1."""
    return Constraint(_group(group), ">=", _whole(count), f"at_least({count})", True)


def one_of(group: Iterable[Place]) -> Constraint:
    """Require that exactly one variable of a group is 1."""
    members = _group(group)
    return Constraint(members, "==", 1, f"one_of({shortened(list(members or ()))})", True)


def implies(i: Place, j: Place) -> Constraint:
    """Require that variable j is 1 if variable i is 1."""
    if _variable(i) == _variable(j):
        raise OptionError(f"implies({i}, {j}) says nothing: both are the same variable")
    return Constraint({i: 1, j: -1}, "<=", 0, f"implies({i}, {j})", True)


def _in_floats(numbers: dict[Place, Any], right: Any) -> tuple[dict[Place, float], float]:
    """Return coefficients and a right side without fractions, in the unit that makes them whole.

    If the whole numbers exceed float64, all numbers are rounded instead.
    """
    values = [*numbers.values(), right]
    if not any(isinstance(value, EXACT) for value in values):
        return numbers, right
    fractions = [_fraction(value) for value in values]
    unit = math.lcm(*(fraction.denominator for fraction in fractions))
    whole = [int(fraction * unit) for fraction in fractions]
    divisor = math.gcd(*whole) or 1
    if sum(map(abs, whole)) // divisor < FLOAT_HOLDS:
        values = [number // divisor for number in whole]
    *coefficients, right = map(float, values)
    return dict(zip(numbers, coefficients, strict=True)), right


def _fraction(value: Any) -> Fraction:
    """Return a number as a fraction, and a float as the decimal that Python writes."""
    if isinstance(value, float):
        return decimal_of(value)
    return Fraction(value)


def _named(coefficients: Mapping[Any, Any]) -> dict[Place, Any]:
    """Return {variable: coefficient} with checked variables and numbers."""
    numbers = _finite(coefficients.values())
    if numbers is None or not _are_places(coefficients):
        return {_variable(i): _number(value) for i, value in coefficients.items()}
    return dict(zip(map(operator.index, coefficients), numbers.tolist(), strict=True))


def _finite(values: Collection[Any]) -> np.ndarray | None:
    """Return numbers as an array; None if one is not a finite number."""
    if not _are_numbers(values, NUMBERS):
        return None
    try:
        numbers = np.fromiter(values, np.float64, len(values))
    except OverflowError:
        return None
    if not np.isfinite(numbers).all():
        return None
    return numbers


def _are_numbers(values: Collection[Any], types: tuple[type, ...]) -> bool:
    """Return whether all values are of these types."""
    return all(issubclass(kind, types) for kind in {*map(type, values)})


def _are_places(values: Collection[Any]) -> bool:
    """Return whether all values are whole numbers of at least 0."""
    if not all(issubclass(kind, WHOLE) and kind is not bool for kind in {*map(type, values)}):
        return False
    return min(values, default=0) >= 0


def _listed(coefficients: Any) -> tuple[dict[Place, Any], int]:
    """Return {variable: coefficient} of `[n]` numbers or of a sparse row, and n."""
    if is_sparse(coefficients):
        return _of_sparse(coefficients), int(coefficients.shape[-1])
    if _are_exact(coefficients):
        return _named(dict(enumerate(coefficients))), len(coefficients)
    try:
        numbers = to_numpy(as_array(coefficients, "coefficients"))
    except (ProblemError, OverflowError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
        raise OptionError(
            "coefficients must be [n] numbers, a sparse row or {variable: coefficient}; got "
            f"{shortened(coefficients)}"
        )
    return _named(dict(enumerate(numbers.tolist()))), len(numbers)


def _are_exact(values: Any) -> bool:
    """Return whether all values of a list or an array of objects are Python numbers."""
    if isinstance(values, np.ndarray) and (values.dtype != object or values.ndim != 1):
        return False
    if not isinstance(values, list | tuple | np.ndarray):
        return False
    return _are_numbers(values, (*NUMBERS, *EXACT))


def _of_sparse(row: Any) -> dict[Place, float]:
    """Return {variable: coefficient} of a sparse row of scipy, `[1, n]` or `[n]`."""
    entries = row.tocoo()
    if row.ndim == 2 and row.shape[0] != 1:
        raise OptionError(
            f"coefficients must be one row, [1, n]; got a sparse matrix of shape {row.shape}. "
            "Make one constraint for each row"
        )
    places, inverse = np.unique(np.asarray(entries.col), return_inverse=True)
    # Scipy adds up the entries of one place.
    sums = np.bincount(inverse, weights=entries.data, minlength=len(places))
    return _named(dict(zip(places.tolist(), sums.tolist(), strict=True)))


def _group(group: Any) -> dict[Place, float] | None:
    if group is None:
        return None
    members = listed(group)
    if len(members) == 1 and members[0] is group:
        raise OptionError(f"a group must be a list of variables; got {shortened(group)}")
    if _are_places(members):
        return dict.fromkeys(map(operator.index, members), 1.0)
    return dict.fromkeys((_variable(i) for i in members), 1.0)


def listed(values: Any) -> list[Any]:
    """Return the values of an iterable as a list, or a list of one value that is not iterable."""
    if not isinstance(values, Iterable):
        return [values]
    try:
        return list(values)
    except TypeError:  # an array without dimensions
        return [values]


def _variable(i: Any) -> Place:
    if isinstance(i, str):
        return i
    if isinstance(i, tuple) and len(i) == 2 and isinstance(i[0], str):
        return i
    if isinstance(i, tuple) and len(i) == 2:
        return _whole_place(i[0]), _whole_place(i[1])
    return _whole_place(i)


def _whole_place(i: Any) -> int:
    if isinstance(i, bool) or not is_whole(i, 0):
        raise OptionError(
            "a variable is a whole number from 0 on, its place in z (see .places of a Conversion), "
            "(variable, value) of labels, or a text, the name that a Conversion has for it; "
            f"got {shortened(i)}"
        )
    return operator.index(i)


def _whole(count: Any) -> int:
    if isinstance(count, bool) or not is_whole(count, 0, 2**31):
        raise OptionError(f"a count is a whole number from 0 on; got {shortened(count)}")
    return operator.index(count)


def _number(value: Any) -> Any:
    """Return a finite number as a float; a fraction or a decimal unchanged."""
    number = math.nan
    if isinstance(value, (*NUMBERS, *EXACT)):
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        except ValueError:  # a signalling NaN of decimal
            number = math.nan
    if not math.isfinite(number):
        raise OptionError(
            f"coefficients and right sides are finite numbers; got {shortened(value)}"
        )
    if isinstance(value, EXACT):
        return value
    return number
