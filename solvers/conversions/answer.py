"""Answers to conversions, with the names, values and objective of the original."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..solution import Solution
from ..tables import (
    MOST_ROWS,
    Table,
    assignment_text,
    certificate_text,
    data_frame,
    gap_of,
    number_text,
    seconds_text,
)


@dataclass(frozen=True, eq=False, repr=False)
class Answer:
    """Answer to a conversion, with the names, values and objective of its original.

    Attributes:
        assignment: the value of every variable: 0 or 1, -1 or 1 for spins, the side of every node
            of a cut.
        value: the original objective, with its constant.
        bound: bound on the objective of all assignments: an upper bound if the original is
            maximised, a lower bound if it is minimised.
        optimal: whether no assignment is proved to be better, up to rounding.
        solution: the solution of the problem that was solved.
    """

    assignment: Mapping[Hashable, Any]
    value: float
    bound: float
    optimal: bool
    solution: Solution[np.ndarray]

    @property
    def gap(self) -> float:
        """The distance between the value and the bound; 0 where they are equal."""
        return gap_of(self.value, self.bound)

    @property
    def seconds(self) -> float:
        """Wall-clock time of the call of `solve`, which may give several answers."""
        return self.solution.seconds

    @property
    def sides(self) -> tuple[set[Hashable], set[Hashable]]:
        """The variables with the lower value and those with the higher value: two sides of a cut.

        Example:
            >>> import networkx
            >>> from solvers import solve
            >>> from solvers.conversions import from_networkx
            >>> path = networkx.path_graph(3)
            >>> answer = solve(from_networkx(path, kind="max_cut"))
            >>> answer.value, sorted(map(sorted, answer.sides))
            (2.0, [[0, 2], [1]])
        """
        low: set[Hashable] = set()
        high: set[Hashable] = set()
        for label, value in self.assignment.items():
            side = low
            if value == 1:
                side = high
            side.add(label)
        return low, high

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` of one row.

        The columns are value, bound, gap, optimal, solver, seconds, and one named after each
        variable.

        Raises:
            SolverUnavailableError: pandas is not installed.

        Example:
            >>> from solvers import solve
            >>> from solvers.conversions import from_qubo
            >>> answer = solve(from_qubo({("a", "a"): -1.0, ("a", "b"): 2.0}))
            >>> answer.to_pandas()[["value", "a", "b"]].values.tolist()
            [[-1.0, 1.0, 0.0]]
        """
        return data_frame([self._row()])

    def _row(self) -> dict[Hashable, Any]:
        facts: dict[Hashable, Any] = {
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "optimal": self.optimal,
            "solver": self.solution.solver,
            "seconds": self.seconds,
        }
        states = {}
        for name, value in self.assignment.items():
            heading = name
            if name in facts:
                heading = f"variable {name}"
            states[heading] = value
        return {**facts, **states}

    def __repr__(self) -> str:
        return _table("Answer", (self,)).text()

    def _repr_html_(self) -> str:
        return _table("Answer", (self,)).html()


class Answers(tuple[Answer, ...]):
    """Tuple of the best answers of a conversion, best first; it prints as a table."""

    __slots__ = ()

    def to_pandas(self) -> Any:
        """Return a `pandas.DataFrame` with one row per answer, in the form of `Answer.to_pandas`.

        Raises:
            SolverUnavailableError: pandas is not installed.
        """
        return data_frame([answer._row() for answer in self])

    if not TYPE_CHECKING:  # type checkers would accept every attribute

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says how to get an attribute of the single answers."""
            message = f"'Answers' object has no attribute '{name}'"
            if name in Answer.__dataclass_fields__ or hasattr(Answer, name):
                message += (
                    f"; it is a tuple of answers: take answers[0].{name}, or "
                    f"[answer.{name} for answer in answers]"
                )
            raise AttributeError(message, name=name, obj=self)

    def __repr__(self) -> str:
        return _table(f"{len(self)} answers", self).text()

    def _repr_html_(self) -> str:
        return _table(f"{len(self)} answers", self).html()


def _table(title: str, answers: tuple[Answer, ...]) -> Table:
    """Return the table of answers, one row per answer."""
    columns = ("assignment", "value", "bound", "gap", "certificate", "solver")
    rows = []
    for answer in answers[:MOST_ROWS]:
        numbers = map(number_text, (answer.value, answer.bound, answer.gap))
        certificate = certificate_text(answer.optimal)
        state = assignment_text(answer.assignment)
        rows.append((state, *numbers, certificate, answer.solution.solver))
    if answers:
        title += seconds_text(answers[0].seconds)
    return Table(title, columns, rows, len(answers))
