"""Answers of problems over variables of several values to the front end."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Scores, States
from ..constraint_rows import Rows
from ..limits.deadline import Deadline
from ..ranking import Ranked, ranked_labels
from ..solving.exclusion import Choose
from ..solving.kinds import Kind, Selection
from .fixing import LabelFixing
from .indicators import rows_of
from .problem import LabelProblem
from .regions import LabelRegions
from .selection import named_solver, select_labels, select_within
from .solver import LabelSolver


class Labelled(Kind[LabelProblem]):
    """Kind of the problems over variables of several values."""

    name = "labels"
    state_type = np.int64

    def named(self, solver: Any) -> LabelSolver | None:
        """Return the solver that `solver` means for every problem; None for "auto"."""
        return named_solver(solver)

    def select(self, problem: LabelProblem) -> Selection[LabelSolver]:
        """Return the solver that `auto` uses for a problem."""
        return select_labels(problem)

    def select_within(
        self, problem: LabelProblem, rows: Rows, count: int
    ) -> Selection[LabelSolver]:
        """Return the solver that `auto` uses for the best assignments that satisfy constraints."""
        return select_within()

    def fixed(self, problem: LabelProblem, fix: Any) -> LabelFixing:
        """Return the problem that forbids the other values of fixed variables."""
        return LabelFixing.of(problem, fix)

    def score(self, problem: LabelProblem, z: States) -> Scores:
        """Return the scores `[batch]` of labels of a problem on the host."""
        return np.asarray(problem.score_flat(z))

    def first(self, problem: LabelProblem, fix: Any, states: States | None) -> States | None:
        """Return the labels to start from, if all of them are allowed."""
        if states is None:
            return None
        allowed = LabelFixing.of(problem, fix).problem.to_host()
        if (self.score(allowed, states) > -np.inf).all():
            return states
        return None

    def rows(self, constraints: Any, problem: LabelProblem) -> Rows:
        """Return constraints over the values of variables."""
        return rows_of(constraints, problem)

    def within(self, problem: LabelProblem, rows: Rows, fix: Any) -> tuple[LabelProblem, Rows]:
        """Return a problem that forbids the other values of fixed variables."""
        return LabelFixing.of(problem, fix).problem, rows

    def neighbours(self, problem: LabelProblem, z: np.ndarray) -> States:
        """Return the assignments `[others, n]` that differ from a state in a single variable."""
        others = []
        for variable, size in enumerate(problem.sizes.tolist()):
            changed = np.repeat(z[None], size, axis=0)
            changed[:, variable] = np.arange(size)
            others.append(np.delete(changed, z[variable], axis=0))
        return np.concatenate(others)

    def ranked(
        self, solver: LabelSolver, problem: LabelProblem, count: int, deadline: Deadline | None
    ) -> Ranked | None:
        """Return several assignments that a solver finds in one search; None if it finds one."""
        return ranked_labels(solver, problem, count, deadline)

    def exclusion(self, choose: Choose, deadline: Deadline) -> LabelRegions:
        """Return the search that excludes one assignment after the other by forbidding values."""
        return LabelRegions(choose, deadline)


LABELLED = Labelled()
