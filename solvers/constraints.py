"""Linear constraints over z, for `solve(..., constraints=[...])`.

    solve(unary, pairwise, constraints=[cardinality(3), implies(0, 2), linear([2.5, 1.0, 0.5], "<=",
    3.0)])

The certificate of a solution then means the states that satisfy them all, and so do `score` and
`bound`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from .arrays import as_array, to_numpy
from .errors import OptionError, ProblemError, shortened
from .options import is_whole

Comparison: TypeAlias = Literal["<=", ">=", "=="]

__all__ = ["Constraint", "at_least", "at_most", "cardinality", "implies", "linear", "one_of"]


@dataclass(frozen=True)
class Constraint:
    """sum_i coefficients_i z_i compared with `right`.

    Attributes:
        coefficients: {variable: coefficient}; None for a 1 for every variable.
        comparison: "<=", ">=" or "==".
        right: the right side.
        name: what messages call it.
    """

    coefficients: Mapping[int, float] | None = field(hash=False)
    comparison: Comparison
    right: float
    name: str


def linear(
    coefficients: Sequence[float] | Mapping[int, float], comparison: Comparison, right: float
) -> Constraint:
    """sum_i coefficients_i z_i compared with a number.

    Args:
        coefficients: `[n]`, or {variable: coefficient}. Decimals mean what they say: 0.1 + 0.2 is
            0.3. All numbers of a constraint are whole multiples of one unit; where their sum has
            more than 53 bits of it, as of many decimals of 17 digits, or of 3e16 beside 1, they are
            rounded to 53, and a state so near to the right side may count as on either side of it.
        comparison: "<=", ">=" or "==".
        right: the right side.

    Raises:
        OptionError: another comparison, or numbers that are none.

    Example:
        >>> from solvers import solve
        >>> solve([3.0, 2.0, 2.0], constraints=[linear([0.3, 0.1, 0.2], "<=", 0.3)]).z.tolist()
        [0, 1, 1]
    """
    if not isinstance(comparison, str) or comparison not in get_args(Comparison):
        raise OptionError(f"a comparison is '<=', '>=' or '=='; got {shortened(comparison)}")
    given = coefficients if isinstance(coefficients, Mapping) else _listed(coefficients)
    numbers = {_variable(i): _number(value) for i, value in given.items()}
    return Constraint(numbers, comparison, _number(right), f"linear({comparison} {right:g})")


def cardinality(count: int) -> Constraint:
    """Exactly so many variables are 1.

    Example:
        >>> from solvers import solve
        >>> solve([3.0, -2.0, -5.0], constraints=[cardinality(2)]).z.tolist()
        [1, 1, 0]
    """
    return Constraint(None, "==", _whole(count), f"cardinality({count})")


def at_most(count: int, group: Iterable[int] | None = None) -> Constraint:
    """No more than so many variables, of a group or of all, are 1."""
    return Constraint(_group(group), "<=", _whole(count), f"at_most({count})")


def at_least(count: int, group: Iterable[int] | None = None) -> Constraint:
    """No fewer than so many variables, of a group or of all, are 1."""
    return Constraint(_group(group), ">=", _whole(count), f"at_least({count})")


def one_of(group: Iterable[int]) -> Constraint:
    """Exactly one variable of a group is 1."""
    members = _group(group)
    return Constraint(members, "==", 1, f"one_of({shortened(list(members or ()))})")


def implies(i: int, j: int) -> Constraint:
    """Where variable i is 1, j is too."""
    if _variable(i) == _variable(j):
        raise OptionError(f"implies({i}, {j}) says nothing: both are the same variable")
    return Constraint({i: 1, j: -1}, "<=", 0, f"implies({i}, {j})")


def _listed(coefficients: Any) -> Mapping[int, float]:
    try:
        numbers = to_numpy(as_array(coefficients, "coefficients"))
    except (ProblemError, OverflowError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1 or numbers.dtype.kind not in "biuf":
        raise OptionError(
            f"coefficients are [n] numbers or {{variable: coefficient}}; got {shortened(coefficients)}"
        )
    return dict(enumerate(numbers.tolist()))


def _group(group: Any) -> dict[int, float] | None:
    if group is None:
        return None
    members = listed(group)
    if members == [group]:
        raise OptionError(f"a group is a list of variables; got {shortened(group)}")
    return dict.fromkeys((_variable(i) for i in members), 1.0)


def listed(given: Any) -> list[Any]:
    """What is in it, or it alone where that cannot be asked."""
    if not isinstance(given, Iterable):
        return [given]
    try:
        return list(given)
    except TypeError:  # an array without dimensions
        return [given]


def _variable(i: Any) -> int:
    if isinstance(i, bool) or not is_whole(i, 0):
        raise OptionError(
            "a variable is a whole number from 0 on, its place in z, which a Conversion has in .places; "
            f"got {shortened(i)}"
        )
    return operator.index(i)


def _whole(count: Any) -> int:
    if isinstance(count, bool) or not is_whole(count, 0, 2**31):
        raise OptionError(f"a count is a whole number from 0 on; got {shortened(count)}")
    return operator.index(count)


def _number(value: Any) -> float:
    try:
        number = (
            float(value) if isinstance(value, int | float | np.integer | np.floating) else np.nan
        )
    except OverflowError:
        number = np.inf
    if not np.isfinite(number):
        raise OptionError(
            f"coefficients and right sides are finite numbers; got {shortened(value)}"
        )
    return number
