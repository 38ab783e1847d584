"""Base class of every label solver."""

from __future__ import annotations

from typing import ClassVar, final

import numpy as np

from ..arrays import ArrayT, Scores, States, namespace_of, to_numpy
from ..constraint_rows import Rows
from ..errors import InfeasibleError, SolveFailedError
from ..limits.deadline import Deadline
from ..problems.any_problem import check_kind
from ..solution import Solution
from ..solver import CertifiedSolver
from .problem import LabelProblem


class LabelSolver(CertifiedSolver[LabelProblem]):
    """Base class of the solvers over labels: find the x of highest pairwise score, x_i < sizes[i].

    A backend sets `name` and `capabilities` and implements `_argmax`. Checks, scores and
    certificates are common to all solvers.
    """

    kind: ClassVar[str] = "labels"

    @final
    def solve(
        self, problem: LabelProblem[ArrayT], time_limit: float | Deadline | None = None
    ) -> Solution[ArrayT]:
        """Return the maximiser of every instance, re-scored in float64 and certified.

        Args:
            problem: the problem to solve.
            time_limit: seconds for the whole batch, or a `Deadline`; None or infinity for no limit.
                When it is reached, the incumbent is returned with `optimal=False` and an upper
                bound.

        Raises:
            ProblemError: `problem` is not a `LabelProblem`.
            SolverUnavailableError: a package is missing.
            UnsupportedProblemError: `why_not(problem)` has reasons.
            OptionError: the time limit is not positive.
            InfeasibleError: every assignment of an instance is forbidden.
            SolveFailedError: the backend stopped without an answer, or with an invalid one.
            ProblemTooLargeError: the backend needs more memory than there is.
            SolveInterrupted: Ctrl-C stopped a search; the exception has the incumbent.
        """
        return super().solve(problem, time_limit)

    def why_not_within(self, problem: LabelProblem, constraints: Rows) -> str | None:
        """Return why this solver cannot take constraints; None if it can."""
        if self.capabilities.constraints is None:
            return (
                "it takes no constraints, unlike 'auto' and the solvers of the labels' bits, such "
                "as 'bits' and 'cp_sat'"
            )
        return super().why_not_within(problem, constraints)

    def _check_kind(self, problem: object) -> None:
        check_kind(problem, LabelProblem)

    def _checked_states(self, problem: LabelProblem, z: States) -> States:
        expected = (problem.batch, problem.n)
        if tuple(z.shape) != expected:
            raise SolveFailedError(
                f"solver '{self.name}' returned labels "
                f"of the shape {tuple(z.shape)} for {expected}: a fault of the solver"
            )
        if fault := problem.fault_of(to_numpy(z)):
            raise SolveFailedError(
                f"labels from solver '{self.name}' {fault}: a fault of the solver"
            )
        xp = namespace_of(z)
        return xp.astype(z, xp.int64, copy=False)

    def _scores(self, problem: LabelProblem, z: States) -> Scores:
        return problem.score_flat(z)

    def _refuse_forbidden(self, score: Scores, bound: Scores) -> None:
        forbidden = np.flatnonzero(to_numpy(score) == -np.inf)
        if not len(forbidden):
            return
        if to_numpy(bound)[forbidden[0]] == -np.inf:
            raise InfeasibleError()
        raise SolveFailedError(
            f"solver '{self.name}' found no allowed assignment "
            f"of instance {forbidden[0]} in its time"
        )
