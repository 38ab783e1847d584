"""Fix labels at values by forbidding all other values of these variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Scores, States, as_array, beside, home_of, namespace_of, to_numpy
from ..errors import OptionError, ProblemError, shortened
from ..limits.progress import Known
from ..options import is_whole
from ..problems.starts import over_batch
from ..solution import Solution
from .problem import LabelProblem

FREE = -1


def with_values(problem: LabelProblem, fix: Any) -> LabelProblem:
    """Return a problem in which the other values of fixed variables are forbidden.

    Raises:
        OptionError: `fix` names no variable of the problem, or a value that it does not have.
    """
    values = values_of(problem, fix)
    allowed = (values[:, :, None] == FREE) | (values[:, :, None] == np.arange(problem.k))
    xp = namespace_of(problem.unary)
    unary = xp.where(
        beside(problem.unary, allowed), problem.unary, xp.full_like(problem.unary, -np.inf)
    )
    return replace(problem, unary=unary)


def values_of(problem: LabelProblem, fix: Any) -> np.ndarray:
    """Return the fixed value of each variable, `[batch, n]`, -1 for a free variable.

    Raises:
        OptionError: `fix` names no variable of the problem, or a value that it does not have.
    """
    if isinstance(fix, Mapping):
        return _values_by_variable(problem, fix)
    try:
        array = to_numpy(as_array(fix, "fix"))
        values = over_batch("fix", array, (*problem.leading, problem.n)).reshape(
            problem.batch, problem.n
        )
    except (ProblemError, OptionError) as error:
        raise OptionError(
            f"fix must be {{variable: value}}, or [..., {problem.n}] with -1 for a free variable; "
            f"got {shortened(fix)}"
        ) from error
    if values.dtype.kind == "f" and (values == np.rint(values)).all():
        values = values.astype(np.int64)
    if values.dtype.kind not in "iu" or not ((values >= FREE) & (values < problem.sizes)).all():
        raise OptionError(f"fix must hold values of the variables, or -1; got {shortened(fix)}")
    return values


def _values_by_variable(problem: LabelProblem, fix: Mapping[Any, Any]) -> np.ndarray:
    """Return the values `[batch, n]` of all variables from {variable: value}; -1 for free ones.

    Raises:
        OptionError: as for `values_of`.
    """
    values = np.full((problem.batch, problem.n), FREE)
    for variable, value in fix.items():
        if not is_whole(variable, 0, problem.n - 1):
            raise OptionError(
                f"fix names the variable {shortened(variable)}; there are 0 to {problem.n - 1}"
            )
        if isinstance(value, float | np.floating) and float(value).is_integer():
            value = int(value)
        if not is_whole(value, 0, int(problem.sizes[variable]) - 1):
            raise OptionError(
                f"fix gives variable {variable} the value {shortened(value)}; it has 0 to "
                f"{problem.sizes[variable] - 1}"
            )
        values[:, variable] = value
    return values


@dataclass(frozen=True, eq=False)
class LabelFixing:
    """Problem in which some variables have fixed values; their other values are forbidden.

    Attributes:
        problem: the problem with forbidden values and all variables of the whole problem.
    """

    problem: LabelProblem

    @classmethod
    def of(cls, problem: LabelProblem, fix: Any) -> LabelFixing:
        """Forbid the other values of the variables that `fix` names; with None, forbid nothing.

        Raises:
            OptionError: `fix` names no variable of the problem, or a value that it does not have.
        """
        if fix is None:
            return cls(problem)
        return cls(with_values(problem, fix))

    @property
    def rest(self) -> LabelProblem:
        """The problem itself, since no variable is removed."""
        return self.problem

    def instance(self, number: int) -> LabelFixing:
        """Return one instance of the batch, whose answers stay on the host."""
        host = self.problem.to_host()
        host = replace(host, home=home_of(host.unary))
        return LabelFixing(host.instances(slice(number, number + 1)))

    def free(self, z: States) -> States:
        """Return all labels."""
        return z

    def whole(self, z: States) -> States:
        """Return the labels unchanged."""
        return z

    def raised(self, bound: Scores) -> Scores:
        """Return the bound unchanged."""
        return bound

    def states(self, most: int) -> int:
        """Return `most`, since the number of forbidden assignments is unknown."""
        return most

    def known(self, incumbent: Known) -> Known:
        """Return the incumbent and bound unchanged."""
        return incumbent

    def lifted(self, solution: Any) -> Solution:
        """Return the solution unchanged; it exists, since there is always a rest."""
        whole: Solution = solution
        return whole
