"""Read the values that a caller fixes, for bits and for labels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from ..arrays import ArrayLike
from ..errors import OptionError, shortened
from ..options import is_whole
from .starts import Valued, no_value, read_values

Fix: TypeAlias = Mapping[int, int] | ArrayLike
"""{variable: value}, or `[n]` or `[..., n]` with -1 for a free variable."""

FREE = -1


def values_of(problem: Valued, fix: Fix) -> np.ndarray:
    """Return the fixed value of each variable, `[batch, n]`, -1 for a free variable.

    Instances may fix different variables.

    Raises:
        OptionError: `fix` names no variable of the problem, or a value that it does not have.
    """
    if isinstance(fix, Mapping):
        return _values_by_variable(problem, fix)
    form = f"{{variable: value}}, or [..., {problem.n}] with -1 for a free variable"
    return read_values("fix", fix, problem, form, FREE)


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
            raise OptionError(no_value("fix", problem, variable, value))
        values[:, variable] = whole
    return values
