"""A problem with its way back to the objective that it came from."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeAlias, overload

import numpy as np

from ..arrays import ArrayT, as_array, to_numpy
from ..constraints import Constraint
from ..errors import OptionError, ProblemError, shortened
from ..problem import Problem
from ..solution import Solution
from .answer import Answer
from .objective import Objective, Quadratic, beyond, folding_error, sums_are_exact, total
from .terms import Linear, Pairs, Weights, folded

Sense: TypeAlias = Literal["minimise", "maximise"]
Labels: TypeAlias = Sequence[Hashable]

UNSEEN = 1e-9
"""Rounding that is so small a part of a value is left out of bounds, as `Solution.bound` leaves it out."""


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
        constraints: what the original asks of the variables, which `problem` alone does not know;
            `solve` of the conversion keeps to them.
        original: the objective in the original's own terms; None where it is constant + sign *
            score(z).
        fixed: {place in z: value} of variables that have no choice, such as the source and the sink
            of a cut.

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
    original: Objective | None = None
    fixed: Mapping[int, int] = field(default_factory=dict)

    @overload
    def value(self, score: float) -> float: ...

    @overload
    def value(self, score: ArrayT) -> ArrayT: ...

    def value(self, score: Any) -> Any:
        """The original objective of assignments with these scores: numbers or arrays of any kind.

        Digits are lost where the constant is much larger than the result; `objective` keeps them.
        """
        return self.constant + self.sign * score

    def objective(self, z: Any) -> float:
        """The original objective of an assignment, evaluated in the original's own terms and rounded once.

        Args:
            z: `[n]` of zeros and ones.

        Raises:
            ProblemError: `z` has another shape, or other numbers.

        Example:
            >>> from solvers.conversions import from_ising
            >>> model = from_ising({"a": 1e16, "b": 0.1}, {("a", "a"): 1e16})
            >>> model.objective([0, 1]), float(model.value(model.problem.score([0, 1])))
            (0.1, 0.2)
        """
        return self._objective_at(self._states_of(z))

    def _objective_at(self, z: np.ndarray) -> float:
        if self.original is None:
            return total([self.constant, *(self.sign * self._score_terms(z)).tolist()])
        return total(self.original.terms(z))

    def objective_bound(self, z: Any, bound: float) -> float:
        """A bound on the original objective, by a bound on the scores.

        Args:
            z: `[n]` of zeros and ones, any assignment; the closer its score to the bound, the fewer
                digits are lost.
            bound: no assignment scores more.

        Raises:
            ProblemError: `z` has another shape, or other numbers.
        """
        z = self._states_of(z)
        value = (
            self._objective_at(z) if self.original is None else total(self.original.solved_terms(z))
        )
        gap = max(0.0, total([float(bound), *(-self._score_terms(z)).tolist()]))
        margin = gap + self._rounding
        if margin <= UNSEEN * abs(value):
            margin = gap
        limit = beyond(value, self.sign * margin)
        return limit if self.original is None or self.sign == 1 else max(limit, self.original.least)

    @cached_property
    def _rounding(self) -> float:
        """How far a difference of scores can be from that of the original, by rounding."""
        problem = self.problem
        folding = 0.0 if self.original is None else folding_error(self.original)
        if sums_are_exact(np.concatenate([np.ravel(problem.unary), np.ravel(problem.pairwise)])):
            return folding
        return folding + float(problem.rounding[0])

    def _score_terms(self, z: np.ndarray) -> np.ndarray:
        """The coefficients of the problem that a state has."""
        first, second = self.problem.topology.pairs.T
        unary, pairwise = (
            np.asarray(part[0], np.float64) for part in (self.problem.unary, self.problem.pairwise)
        )
        return np.concatenate([unary[z == 1], pairwise[(z[first] == 1) & (z[second] == 1)]])

    def _states_of(self, z: Any) -> np.ndarray:
        """`[n]` integers, those of fixed variables as they have to be."""
        states = to_numpy(as_array(z, "z"))
        if states.shape != (len(self.labels),):
            raise ProblemError(f"z must be [{len(self.labels)}]; its shape is {states.shape}")
        if states.dtype.kind not in "biuf" or not np.isin(states, (0, 1)).all():
            raise ProblemError(f"z must hold zeros and ones; got {shortened(z)}")
        states = states.astype(np.int64)
        states[list(self.fixed)] = list(self.fixed.values())
        return states

    def completed(self, solution: Solution[np.ndarray]) -> Solution[np.ndarray]:
        """A solution of `problem`, in which the fixed variables have their values."""
        if not self.fixed:
            return solution
        z = solution.z.copy()
        z[..., list(self.fixed)] = list(self.fixed.values())
        return replace(solution, z=z)

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
        states = self._states_of(z)
        return dict(zip(self.labels, (self.values[z] for z in states.tolist()), strict=True))

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
                raise OptionError(
                    f"{shortened(label)} cannot be {shortened(value)}; it is {low} or {high}"
                )
            place, state = self.places[label], self.values.index(value)
            if self.fixed.get(place, state) != state:
                raise OptionError(
                    f"{shortened(label)} is {self.values[1 - state]} and cannot be {shortened(value)}"
                )
            found[place] = state
        return found

    def answer(self, solution: Solution[np.ndarray]) -> Answer:
        """A solution of `problem` in the words of the original."""
        z, bound, optimal = (
            part.reshape(-1) for part in (solution.z, solution.bound, solution.optimal)
        )
        value, limit = self.objective(z), self.objective_bound(z, float(bound[0]))
        # Where arcs were capped the two may be far apart, and no proof says that the value is
        # optimal.
        proved = bool(optimal[0]) and self._is_as_solved(z)
        return Answer(self.assignment(z), value, limit, proved, self.completed(solution))

    def _is_as_solved(self, z: np.ndarray) -> bool:
        """Whether the problem's own objective has the same value at a state as the original."""
        if self.original is None:
            return True
        z = self._states_of(z)
        return bool(np.array_equal(self.original.terms(z), self.original.solved_terms(z)))


def converted(
    sense: Sense,
    labels: Labels,
    linear: Linear,
    pairs: Pairs,
    weights: Weights,
    constant: float,
    values: tuple[int, int] = (0, 1),
    original: Objective | None = None,
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
        original: the objective, where it was written in other terms; None for these.

    Raises:
        OptionError: `sense` is neither word.
        ProblemError: terms that are not finite, or that overflow.
    """
    if not isinstance(sense, str) or sense not in ("minimise", "maximise"):
        raise OptionError(f"sense must be 'minimise' or 'maximise'; got {shortened(sense)}")
    if not math.isfinite(constant):
        raise ProblemError(
            f"the constant terms add up to {constant}; divide all terms by a constant"
        )
    sign = 1 if sense == "maximise" else -1
    original = original or Quadratic((constant,), linear, pairs, weights)
    problem = folded(sign * linear, pairs, sign * weights)
    return Conversion(problem, sign, constant, labels, values, original=original)
