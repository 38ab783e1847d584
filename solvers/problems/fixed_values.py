"""Read the values that a caller fixes, for bits and for labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..arrays import ArrayLike, as_array, to_numpy
from ..errors import OptionError, ProblemError, shortened
from ..options import is_whole
from .starts import over_batch

Fix: TypeAlias = Mapping[int, int] | ArrayLike
"""{variable: value}, or `[n]` or `[..., n]` with -1 for a free variable."""

FREE = -1


class Valued(Protocol):
    """A batch of problems whose variables have values from 0 on."""

    @property
    def batch(self) -> int:
        """Number of instances."""

    @property
    def n(self) -> int:
        """Number of variables of an instance."""

    @property
    def leading(self) -> tuple[int, ...]:
        """The leading dimensions of the caller's arrays."""

    @property
    def sizes(self) -> np.ndarray:
        """Number of values of each variable, `[n]`."""


def values_of(problem: Valued, fix: Fix) -> np.ndarray:
    """Return the fixed value of each variable, `[batch, n]`, -1 for a free variable.

    Instances may fix different variables.

    Raises:
        OptionError: `fix` names no variable of the problem, or a value that it does not have.
    """
    if isinstance(fix, Mapping):
        return _values_by_variable(problem, fix)
    shape = (*problem.leading, problem.n)
    try:
        values = over_batch("fix", to_numpy(as_array(fix, "fix")), shape)
    except (ProblemError, OptionError) as error:
        raise OptionError(_form(problem, fix)) from error
    if values.dtype.kind not in "biuf":
        raise OptionError(_form(problem, fix))
    values = values.reshape(problem.batch, problem.n)
    # NaN compares false, so the negation reports it as well.
    wrong = ~((values >= FREE) & (values < problem.sizes))
    if values.dtype.kind == "f":
        wrong |= values != np.rint(values)
    if wrong.any():
        instance, variable = np.argwhere(wrong)[0].tolist()
        value = values[instance, variable].item()
        raise OptionError(f"{_no_value(problem, variable, value)}, and -1 leaves it free")
    return values.astype(np.int64)


def _form(problem: Valued, fix: object) -> str:
    """Return the message about values to fix that have another form."""
    return (
        f"fix must be {{variable: value}}, or [..., {problem.n}] with -1 for a free variable; "
        f"got {shortened(fix)}"
    )


def _no_value(problem: Valued, variable: int, value: object) -> str:
    """Return the message about a value that a variable does not have."""
    return (
        f"fix gives variable {variable} the value {shortened(value)}; it has 0 to "
        f"{problem.sizes[variable] - 1}"
    )


def _values_by_variable(problem: Valued, fix: Mapping[Any, Any]) -> np.ndarray:
    """Return the values `[batch, n]` of all variables from {variable: value}; -1 for free ones.

    Raises:
        OptionError: as for `values_of`.
    """
    values = np.full((problem.batch, problem.n), FREE)
    for variable, value in fix.items():
        if isinstance(variable, bool) or not is_whole(variable, 0, problem.n - 1):
            raise OptionError(
                f"fix names the variable {shortened(variable)}; there are 0 to {problem.n - 1}"
            )
        whole = value
        if isinstance(value, float | np.floating | np.bool_) and float(value).is_integer():
            whole = int(value)
        if not is_whole(whole, 0, int(problem.sizes[variable]) - 1):
            raise OptionError(_no_value(problem, variable, value))
        values[:, variable] = whole
    return values
