"""Fix labels at values by forbidding all other values of these variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import beside, home_of, namespace_of
from ..problems.fixed_values import FREE, values_of
from ..solving.fixed import Fixed
from .problem import LabelProblem


def with_values(problem: LabelProblem, values: np.ndarray) -> LabelProblem:
    """Return a problem in which the other values of fixed variables are forbidden.

    Args:
        problem: any problem.
        values: `[batch, n]`, -1 for a free variable.
    """
    allowed = (values[:, :, None] == FREE) | (values[:, :, None] == np.arange(problem.k))
    xp = namespace_of(problem.unary)
    unary = xp.where(
        beside(problem.unary, allowed), problem.unary, xp.full_like(problem.unary, -np.inf)
    )
    return replace(problem, unary=unary)


@dataclass(frozen=True, eq=False)
class LabelFixing(Fixed[LabelProblem]):
    """Label problem in which some variables have fixed values; their other values are forbidden.

    No variable is removed, so `rest` is `problem`.
    """

    @classmethod
    def of(cls, problem: LabelProblem, fix: Any) -> LabelFixing:
        """Forbid the other values of the variables that `fix` names; with None, forbid nothing.

        Raises:
            OptionError: `fix` names no variable of the problem, or a value that it does not have.
        """
        if fix is not None:
            problem = with_values(problem, values_of(problem, fix))
        return cls(problem, problem)

    def instance(self, number: int) -> LabelFixing:
        """Return one instance of the batch, whose answers stay on the host."""
        host = self.problem.to_host()
        host = replace(host, home=home_of(host.unary))
        single = host.instances(slice(number, number + 1))
        return LabelFixing(single, single)
