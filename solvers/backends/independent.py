"""Solve problems without pairwise scores, one variable at a time."""

from __future__ import annotations

from ..arrays import namespace_of
from ..limits.deadline import Deadline
from ..problems.problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities


class Independent(ArgmaxSolver):
    """Exact solver of problems without pairwise scores: z_i = 1 where unary[i] > 0."""

    name = "independent"
    capabilities = Capabilities(exact=True, pairwise=False, on_device=True)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        xp = namespace_of(problem.unary)
        return Maximiser(xp.astype(problem.unary > 0, xp.int8))
