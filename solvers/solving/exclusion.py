"""What searches that exclude one state after the other share, for bits and for labels."""

from __future__ import annotations

from typing import Any

from ..limits.deadline import Deadline
from ..solution import Solution, SolveInterrupted
from .kinds import Choose


class Searches:
    """Searches of regions until a deadline passes, or Ctrl-C ends one of them.

    Attributes:
        interrupted: whether Ctrl-C ended a search.
    """

    def __init__(self, choose: Choose, deadline: Deadline) -> None:
        """Search nothing yet.

        Args:
            choose: the solver of a problem.
            deadline: after which regions are not searched.
        """
        self._choose = choose
        self._deadline = deadline
        self.interrupted = False

    @property
    def over(self) -> bool:
        """Whether regions are searched no longer."""
        return self.interrupted or self._deadline.passed

    def best(self, problem: Any) -> Solution:
        """Return the best state of each instance, or what was known at an interrupt.

        Raises:
            SolveInterrupted: nothing was known then.
        """
        solver = self._choose(problem)
        limit = None
        if solver.capabilities.time_limit:
            limit = self._deadline
        try:
            return solver.solve(problem, limit)
        except SolveInterrupted as stopped:
            if not stopped.found:
                raise
            self.interrupted = True
            return stopped.solution

    def excuses(self, problem: Any) -> bool:
        """Tell whether a solver may have missed a state.

        It may if the time was short, or if the solver is not exact.
        """
        return self._deadline.limited or self.over or not self._choose(problem).capabilities.exact
