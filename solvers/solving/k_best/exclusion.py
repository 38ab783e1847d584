"""Base of searches that exclude one state after the other, for bits and for labels."""

from __future__ import annotations

from typing import Any

from ...limits.deadline import Deadline
from ...solution import Solution, SolveInterrupted
from ..kinds import Choose


class Searches:
    """Searches of regions until a deadline passes, or Ctrl-C ends one of them.

    Attributes:
        interrupted: whether Ctrl-C ended a search.
    """

    def __init__(self, choose: Choose, deadline: Deadline) -> None:
        """Keep the solver and the deadline.

        Args:
            choose: returns the solver of a problem.
            deadline: no region is searched after it.
        """
        self._choose = choose
        self._deadline = deadline
        self.interrupted = False

    @property
    def over(self) -> bool:
        """Whether no further region is searched."""
        return self.interrupted or self._deadline.passed

    def best(self, problem: Any) -> Solution:
        """Return the best state of each instance, or the incumbent at an interrupt.

        Raises:
            SolveInterrupted: Ctrl-C came before the first incumbent.
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
        """Return whether a solver may have missed a state.

        It may if the time was short, or if the solver is not exact.
        """
        return self._deadline.limited or self.over or not self._choose(problem).capabilities.exact
