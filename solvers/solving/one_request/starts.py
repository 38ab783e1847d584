"""Search from the states of a caller, and return nothing worse than these states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Scores, States, to_numpy
from ...constraint_rows import Rows
from ...errors import SolveFailedError
from ...limits.deadline import Deadline
from ...solution import Solution, SolveInterrupted
from ...solver import CertifiedSolver
from ..kinds import kind_of
from ..request import Request


@dataclass(frozen=True, eq=False)
class Start:
    """States from which a caller asks a search to start.

    Attributes:
        problem: the problem that is searched.
        states: `[batch, n]`.
        allowed: `[batch]`, which of the states satisfy the constraints.
        solver: the solver of the search; it starts from the states if it can.
        is_taken: whether the solver starts from the states.
    """

    problem: Any
    states: States
    allowed: np.ndarray
    solver: CertifiedSolver[Any]
    is_taken: bool

    @classmethod
    def of(cls, request: Request, solver: CertifiedSolver[Any], rows: Rows | None = None) -> Start:
        """Return the initial states of a request, with a solver that starts from them if it can.

        Args:
            request: a problem, and states to start from.
            solver: the solver of the request.
            rows: constraints that an answer has to satisfy; None for none.

        Raises:
            OptionError: the arrays are not states of the problem.
        """
        problem = request.problem
        states = np.asarray(request.kind.states(request.start, problem))
        allowed = np.ones(len(states), bool)
        if rows is not None:
            allowed = rows.satisfied(problem.columns(states))
        is_taken = "start" in solver.options()
        if is_taken:
            solver = solver.with_options(start=request.start)
        return cls(problem, states, allowed, solver, is_taken)

    def improved(self, search: Callable[[], Solution], deadline: Deadline) -> Solution:
        """Return the solution of a search, or the initial states where they are better.

        Raises:
            SolveInterrupted: Ctrl-C; its solution is at least as good as the initial states.
            SolveFailedError: the search failed, and the initial states are no answer either.
        """
        try:
            solution = search()
        except SolveInterrupted as interrupt:
            raise SolveInterrupted(self._at_least(interrupt.solution)) from None
        except SolveFailedError:
            # A failure before the deadline is a fault. After it, the start is still an answer.
            scores = self._scores()
            is_answer = self.allowed.all() and (scores > -np.inf).all()
            if not deadline.passed or not is_answer:
                raise
            solution = self._alone(scores)
        return self._at_least(solution)

    def _scores(self) -> Scores:
        """Return the scores `[batch]` of the initial states."""
        host = self.problem.to_host()
        return to_numpy(kind_of(self.problem).score(host, self.states))

    def _alone(self, scores: Scores) -> Solution:
        """Return the initial states as a solution without a proof."""
        host = self.problem.to_host()
        # A score may exceed the trivial bound by rounding. A bound below it would contradict it.
        bound = np.maximum(scores, to_numpy(host.trivial_bound))
        return Solution(
            z=host.restore(self.states),
            score=host.restore(scores),
            optimal=host.restore(np.zeros(len(scores), bool)),
            bound=host.restore(bound),
            solver=self.solver.name,
            stats={},
        )

    def _at_least(self, solution: Solution) -> Solution:
        """Return a solution at least as good as the initial states.

        Its `stats` say whether the solver started from these states.
        """
        use = "unused"
        if self.is_taken:
            use = solution.stats.get("start", "used")
        solution = replace(solution, stats={**solution.stats, "start": use})
        optimal = to_numpy(solution.optimal).reshape(-1)
        if optimal.all():
            return solution
        host = self.problem.to_host()
        score = to_numpy(solution.score).reshape(-1)
        start_score = self._scores()
        # A proved state stays, even if rounding makes the initial state look better.
        better = (start_score > score) & ~optimal & self.allowed
        if not better.any():
            return solution
        z = to_numpy(solution.z).reshape(host.batch, host.n)
        score = np.where(better, start_score, score)
        # A bound below the new score would contradict it.
        bound = np.maximum(score, to_numpy(solution.bound).reshape(-1))
        return replace(
            solution,
            z=host.restore(np.where(better[:, None], self.states, z)),
            score=host.restore(score),
            bound=host.restore(bound),
        )
