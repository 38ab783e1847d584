"""Express linear constraints over the values of variables, as rows.

The rows are over the values, or over the bits that encode the labels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..constraint_rows import Rows
from ..constraints import Constraint, Place, listed
from ..errors import OptionError, shortened
from .problem import LabelProblem


def rows_of(constraints: Any, problem: LabelProblem) -> Rows:
    """Return constraints over the columns `[n * k]` of a problem, in whole numbers.

    Raises:
        OptionError: the argument is not a list of constraints of `solvers.constraints`, or a
            constraint does not name values of the variables.
    """
    named = [_over_columns(constraint, problem) for constraint in listed(constraints)]
    return Rows.of(named, problem.n * problem.k)


def _over_columns(constraint: Any, problem: LabelProblem) -> Any:
    if not isinstance(constraint, Constraint):
        return constraint  # `Rows.of` names the fault
    if constraint.coefficients is None:
        raise OptionError(
            f"{constraint.name} counts variables that are 1; of labels say which: pass a group of "
            "(variable, value)"
        )
    columns: dict[Place, float] = {}
    for place, coefficient in constraint.coefficients.items():
        if not isinstance(place, tuple):
            raise OptionError(
                f"{constraint.name} names {place}; constraints over labels name (variable, value)"
            )
        variable, value = place
        if isinstance(variable, str):
            raise OptionError(
                f"{constraint.name} names {shortened(variable)}; the variables of a LabelProblem "
                f"are 0 to {problem.n - 1}, and only those of a conversion have names"
            )
        if variable >= problem.n:
            raise OptionError(
                f"{constraint.name} names variable {variable}; there are 0 to {problem.n - 1}"
            )
        if value >= problem.sizes[variable]:
            raise OptionError(
                f"{constraint.name} names value {value} of variable {variable}; it has 0 to "
                f"{problem.sizes[variable] - 1}"
            )
        columns[variable * problem.k + value] = coefficient
    return replace(constraint, coefficients=columns)


def rows_of_bits(rows: Rows, problem: LabelProblem) -> Rows:
    """Translate constraints over values to constraints over domain-wall bits.

    The result includes the rows that make the bits a valid encoding.

    Variable i has value a if bit a - 1 is 1 and bit a is 0: [x_i = a] = b_(a-1) - b_a, with b_(-1)
    = 1 and 0 after the last bit. So the coefficient of bit t is c_(t+1) - c_t, and c_0 is a
    constant.
    """
    bits = []
    constants = np.zeros(len(rows), np.int64)
    for variable, size in enumerate(problem.sizes.tolist()):
        first = variable * problem.k
        coefficients = rows.matrix[:, first : first + size]
        constants += coefficients[:, 0]
        bits.append(np.diff(coefficients, axis=1))
    walls = _walls(problem)
    return Rows(
        np.concatenate([np.concatenate(bits, axis=1), walls]),
        np.concatenate([rows.low - constants, np.full(len(walls), -1)]),
        np.concatenate([rows.high - constants, np.zeros(len(walls), np.int64)]),
        (*rows.names, *["labels"] * len(walls)),
    )


def _walls(problem: LabelProblem) -> np.ndarray:
    """Return the coefficients `[walls, bits]` of b_(t+1) - b_t <= 0 for each variable."""
    variable = np.repeat(np.arange(problem.n), problem.sizes - 1)
    first = np.flatnonzero(variable[1:] == variable[:-1])
    walls = np.zeros((len(first), len(variable)), np.int64)
    walls[np.arange(len(first)), first] = -1
    walls[np.arange(len(first)), first + 1] = 1
    return walls
