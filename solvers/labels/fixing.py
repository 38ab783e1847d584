"""Fix labels at values by forbidding all other values of these variables."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import Scores, States, beside, home_of, namespace_of
from ..limits.progress import Known
from ..problems.fixed_values import FREE, values_of
from ..solution import Solution
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
        return cls(with_values(problem, values_of(problem, fix)))

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
