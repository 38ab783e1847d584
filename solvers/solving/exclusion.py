"""Base of searches that exclude one state after the other, for bits and for labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from ..arrays import States
from ..limits.deadline import Deadline
from ..solution import Solution, SolveInterrupted
from ..solver import CertifiedSolver

Choose: TypeAlias = Callable[[Any], CertifiedSolver[Any]]
"""Returns the solver for a problem, in which some variables may be fixed."""


class Exclusion(ABC):
    """Search that excludes each state it has found, until a deadline passes or Ctrl-C ends it."""

    def __init__(self, choose: Choose, deadline: Deadline) -> None:
        """Keep the solver and the deadline.

        Args:
            choose: returns the solver of a problem.
            deadline: no set of states is searched after it.
        """
        self._choose = choose
        self._deadline = deadline
        self._interrupted = False

    @abstractmethod
    def ranked(self, fixed: Any, count: int, number: int) -> tuple[States, np.ndarray]:
        """Return the best states `[count, n]` of one instance of a batch, with bounds `[count]`.

        Each bound holds for all states except the ones before it.

        Args:
            fixed: the instance, of which some variables may have fixed values.
            count: number of states.
            number: the place of the instance in the batch.
        """

    @abstractmethod
    def unsearched(self, fixed: Any, rows: np.ndarray, count: int) -> tuple[States, np.ndarray]:
        """Return states `[rows, count, n]` for which there was no time, with bounds.

        The bounds are `[rows, count]`, on all states.

        Args:
            fixed: the whole batch, of which some variables may have fixed values.
            rows: the places of the instances in the batch.
            count: number of states of each instance.
        """

    @property
    def _is_over(self) -> bool:
        """Whether no further set of states is searched."""
        return self._interrupted or self._deadline.passed

    def _best(self, problem: Any) -> Solution:
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
        except SolveInterrupted as interrupt:
            if not interrupt.found:
                raise
            self._interrupted = True
            return interrupt.solution

    def _may_have_missed(self, problem: Any) -> bool:
        """Return whether the solver may have missed a state of a problem.

        It may if the time was short, or if the solver is not exact.
        """
        if self._deadline.limited or self._is_over:
            return True
        return not self._choose(problem).capabilities.exact
