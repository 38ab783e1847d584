"""A problem with its way back to the objective that it came from."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from ..arrays import ArrayT, as_array, to_numpy
from ..constraints import Constraint
from ..errors import OptionError, ProblemError, shortened
from ..problem import Problem
from ..solution import Solution
from .answer import Answer
from .terms import Linear, Pairs, Weights, folded

Sense: TypeAlias = Literal["minimise", "maximise"]
Labels: TypeAlias = Sequence[Hashable]


def places_of(labels: Labels) -> dict[Hashable, int]:
    """Where each label stands in z."""
    return {label: place for place, label in enumerate(labels)}


@dataclass(frozen=True, eq=False)
class Conversion:
    """A problem that came from another convention, and the way back.

    original objective(z) = constant + sign * score(z)

    Attributes:
        problem: what to solve.
        sign: 1 where the original is maximised, -1 where it is minimised.
        constant: the original objective of a score of zero.
        labels: `[n]`, what the original calls each variable, in the order of z.
        values: what the original calls 0 and 1: -1 and 1 where its variables are spins.
        constraints: what the original asks of the variables, which `problem` alone does not know; `solve` of the
            conversion keeps to them.

    Example:
        >>> from solvers.conversions import from_qubo
        >>> conversion = from_qubo({("a", "a"): 1.0, ("a", "b"): -3.0})
        >>> z = [1, 1]
        >>> float(conversion.value(conversion.problem.score(z))), conversion.assignment(z)
        (-2.0, {'a': 1, 'b': 1})
    """

    problem: Problem[np.ndarray]
    sign: int
    constant: float
    labels: Labels
    values: tuple[int, int] = (0, 1)
    constraints: tuple[Constraint, ...] = ()

    @overload
    def value(self, score: float) -> float: ...

    @overload
    def value(self, score: ArrayT) -> ArrayT: ...

    def value(self, score: Any) -> Any:
        """The original objective of assignments with these scores: numbers or arrays of any kind."""
        return self.constant + self.sign * score

    @overload
    def score(self, value: float) -> float: ...

    @overload
    def score(self, value: ArrayT) -> ArrayT: ...

    def score(self, value: Any) -> Any:
        """The score of assignments with these original objectives; undoes `value`."""
        return self.sign * (value - self.constant)

    @cached_property
    def places(self) -> Mapping[Hashable, int]:
        """Where each variable stands in z, by its original name: what constraints name.

        Example:
            >>> from solvers import solve
            >>> from solvers.constraints import one_of
            >>> from solvers.conversions import from_qubo
            >>> model = from_qubo({("a", "a"): -1.0, ("b", "b"): -2.0, ("c", "c"): -3.0})
            >>> solve(model, constraints=[one_of(model.places[name] for name in "bc")]).assignment
            {'a': 1, 'b': 0, 'c': 1}
        """
        return places_of(self.labels)

    def assignment(self, z: Any) -> dict[Hashable, int]:
        """The value of each variable under its original name.

        Args:
            z: `[n]` of zeros and ones.

        Raises:
            ProblemError: `z` has another shape.
        """
        states = to_numpy(as_array(z, "z"))
        if states.shape != (len(self.labels),):
            raise ProblemError(f"z must be [{len(self.labels)}]; its shape is {states.shape}")
        if states.dtype.kind not in "biuf" or not np.isin(states, (0, 1)).all():
            raise ProblemError(f"z must hold zeros and ones; got {shortened(z)}")
        return dict(zip(self.labels, (self.values[z] for z in states.astype(int).tolist()), strict=True))

    def states(self, assignment: Mapping[Hashable, int]) -> dict[int, int]:
        """{place: 0 or 1} of variables by their original names and values; undoes `assignment`.

        Raises:
            OptionError: a name that is none, or a value that the variable cannot have.

        Example:
            >>> from solvers.conversions import from_ising
            >>> from_ising({"a": 0.5, "b": 0.0}, {("a", "b"): -1.0}).states({"b": -1})
            {1: 0}
        """
        found = {}
        for label, value in assignment.items():
            if label not in self.places:
                raise OptionError(
                    f"{shortened(label)} is no variable; the first one is {shortened(self.labels[0])}"
                )
            if value not in self.values:
                low, high = self.values
                raise OptionError(f"{shortened(label)} cannot be {shortened(value)}; it is {low} or {high}")
            found[self.places[label]] = self.values.index(value)
        return found

    def answer(self, solution: Solution[np.ndarray]) -> Answer:
        """A solution of `problem` in the words of the original."""
        z, score, bound = (part.reshape(-1) for part in (solution.z, solution.score, solution.bound))
        return Answer(
            self.assignment(z),
            float(self.value(score[0])),
            float(self.value(bound[0])),
            bool(solution.optimal.reshape(-1)[0]),
            solution,
        )


def converted(
    sense: Sense,
    labels: Labels,
    linear: Linear,
    pairs: Pairs,
    weights: Weights,
    constant: float,
    values: tuple[int, int] = (0, 1),
) -> Conversion:
    """The conversion from the objective constant + sum linear_i z_i + sum weights_ij z_i z_j.

    Args:
        sense: what is done with the objective.
        labels: `[n]`.
        linear: `[n]`.
        pairs: `[e, 2]`, as `folded` takes them.
        weights: `[e]`.
        constant: the objective where all are zero.
        values: what the original calls 0 and 1.

    Raises:
        OptionError: `sense` is neither word.
        ProblemError: terms that are not finite, or that overflow.
    """
    if not isinstance(sense, str) or sense not in ("minimise", "maximise"):
        raise OptionError(f"sense must be 'minimise' or 'maximise'; got {shortened(sense)}")
    if not math.isfinite(constant):
        raise ProblemError(f"the constant terms add up to {constant}; divide all terms by a constant")
    sign = 1 if sense == "maximise" else -1
    return Conversion(folded(sign * linear, pairs, sign * weights), sign, constant, labels, values)
