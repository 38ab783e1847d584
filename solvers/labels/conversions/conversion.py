"""A label problem that came from another convention, and the way back to names and to the original objective."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...arrays import as_array, to_numpy
from ...conversions.answer import Answer
from ...conversions.conversion import UNSEEN
from ...conversions.objective import Objective, beyond, folding_error, sums_are_exact, total
from ...errors import OptionError, ProblemError, shortened
from ...solution import Solution
from ..problem import LabelProblem


@dataclass(frozen=True, eq=False)
class LabelConversion:
    """A label problem that came from another convention, and the way back.

    original objective(x) = constant + sign * score(x)

    Attributes:
        problem: what to solve; behind the original's variables come those that stand for factors of
            three or more.
        sign: 1 where the original is maximised, -1 where it is minimised.
        constant: the original objective of a score of zero.
        names: what the original calls each of its variables.
        values: what it calls the values of each.
        original: the objective in the original's own terms; None where it is constant + sign *
            score(x).

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
    original: Objective | None = None

    def value(self, score: Any) -> Any:
        """The original objective of assignments with these scores: numbers or arrays of any kind.

        Digits are lost where the constant is much larger than the result; `objective` keeps them.
        """
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
        own = self._labels_of(labels)
        return {
            name: values[a]
            for name, values, a in zip(self.names, self.values, own.tolist(), strict=True)
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

    def objective(self, labels: Any) -> float:
        """The original objective of an assignment, evaluated in the original's own terms and rounded once.

        Args:
            labels: `[n]` integers, or more behind them.

        Raises:
            ProblemError: `labels` has another shape, or values that a variable does not have.
        """
        own = self._labels_of(labels)
        if self.original is not None:
            return total(self.original.terms(own))
        return float(self.value(float(self.problem.score(labels))))

    def objective_bound(self, labels: Any, bound: float) -> float:
        """A bound on the original objective, by a bound on the scores.

        Args:
            labels: `[n]` integers with those that stand for factors, any assignment; the closer its
                score to the bound, the fewer digits are lost.
            bound: no assignment scores more.

        Raises:
            ProblemError: `labels` has another shape, or values that a variable does not have.
        """
        value = self.objective(labels)
        if self.original is None or not math.isfinite(value):
            return float(self.value(bound))
        whole = to_numpy(as_array(labels, "labels"))
        gap = max(0.0, bound - float(self.problem.score(whole)))
        margin = gap + self._rounding
        if margin <= UNSEEN * abs(value):
            margin = gap
        return beyond(value, self.sign * margin)

    @cached_property
    def _rounding(self) -> float:
        """How far a difference of scores can be from that of the original, by rounding."""
        if self.original is None or sums_are_exact(self.original.coefficients()):
            return 0.0
        return folding_error(self.original) + float(self.problem.rounding[0])

    def _labels_of(self, labels: Any) -> np.ndarray:
        """`[n]` integers: the values of the original's own variables."""
        given = to_numpy(as_array(labels, "labels"))
        if given.shape not in ((len(self.names),), (self.problem.n,)):
            raise ProblemError(f"labels must be [{self.problem.n}]; their shape is {given.shape}")
        own = given[: len(self.names)]
        if (
            own.dtype.kind not in "iu"
            or not ((own >= 0) & (own < self.problem.sizes[: len(own)])).all()
        ):
            raise ProblemError(f"labels must be values of their variables; got {shortened(labels)}")
        return own

    def answer(self, solution: Solution[np.ndarray]) -> Answer:
        """A solution of `problem` in the words of the original."""
        labels, bound, optimal = (
            part.reshape(-1) for part in (solution.labels, solution.bound, solution.optimal)
        )
        value, limit = self.objective(labels), self.objective_bound(labels, float(bound[0]))
        return Answer(self.assignment(labels), value, limit, bool(optimal[0]), solution)
