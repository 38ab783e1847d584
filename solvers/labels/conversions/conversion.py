"""A label problem that came from another convention, and the way back to names and to the original objective."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import as_array, to_numpy
from ...conversions.answer import Answer
from ...errors import OptionError, ProblemError, shortened
from ...solution import Solution
from ..problem import LabelProblem


@dataclass(frozen=True, eq=False)
class LabelConversion:
    """A label problem that came from another convention, and the way back.

    original objective(x) = constant + sign * score(x)

    Attributes:
        problem: what to solve; behind the original's variables come those that stand for factors of three or more.
        sign: 1 where the original is maximised, -1 where it is minimised.
        constant: the original objective of a score of zero.
        names: what the original calls each of its variables.
        values: what it calls the values of each.

    Example:
        >>> from solvers.labels import from_factors, solve
        >>> vote = from_factors([2, 3], [((0, 1), np.arange(6.0).reshape(2, 3))], names=["coat", "shoe"])
        >>> answer = solve(vote)
        >>> answer.assignment, answer.value, answer.optimal
        ({'coat': 1, 'shoe': 2}, 5.0, True)
    """

    problem: LabelProblem[np.ndarray]
    sign: int
    constant: float
    names: Sequence[Hashable]
    values: Sequence[Sequence[Hashable]]

    def value(self, score: Any) -> Any:
        """The original objective of assignments with these scores: numbers or arrays of any kind."""
        return self.constant + self.sign * score

    def score(self, value: Any) -> Any:
        """The score of assignments with these original objectives; undoes `value`."""
        return self.sign * (value - self.constant)

    def assignment(self, labels: Any) -> dict[Hashable, Hashable]:
        """The original's name of the value of each of its variables.

        Args:
            labels: `[n]` integers, or more behind them.

        Raises:
            ProblemError: `labels` has another shape, or values that a variable does not have.
        """
        given = to_numpy(as_array(labels, "labels"))
        if given.shape not in ((len(self.names),), (self.problem.n,)):
            raise ProblemError(f"labels must be [{self.problem.n}]; their shape is {given.shape}")
        own = given[: len(self.names)]
        if own.dtype.kind not in "iu" or not ((own >= 0) & (own < self.problem.sizes[: len(own)])).all():
            raise ProblemError(f"labels must be values of their variables; got {shortened(labels)}")
        return {
            name: values[a] for name, values, a in zip(self.names, self.values, own.tolist(), strict=True)
        }

    def labels(self, assignment: Mapping[Hashable, Hashable]) -> dict[int, int]:
        """{variable: value} by the original's names; undoes `assignment`, for `fix`.

        Raises:
            OptionError: a name that is none, or a value that the variable does not have.
        """
        if not isinstance(assignment, Mapping):
            raise OptionError(f"values by name are a dict of names; got {shortened(assignment)}")
        place = {name: i for i, name in enumerate(self.names)}
        found = {}
        for name, value in assignment.items():
            if name not in place:
                raise OptionError(
                    f"{shortened(name)} is no variable; the first one is {shortened(self.names[0])}"
                )
            values = list(self.values[place[name]])
            if value not in values:
                raise OptionError(
                    f"{shortened(name)} cannot be {shortened(value)}; it is one of {shortened(values)}"
                )
            found[place[name]] = values.index(value)
        return found

    def answer(self, solution: Solution[np.ndarray]) -> Answer:
        """A solution of `problem` in the words of the original."""
        labels, score, bound = (
            part.reshape(-1) for part in (solution.labels, solution.score, solution.bound)
        )
        return Answer(
            self.assignment(labels),
            float(self.value(score[0])),
            float(self.value(bound[0])),
            bool(solution.optimal.reshape(-1)[0]),
            solution,
        )
