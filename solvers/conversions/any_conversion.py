"""Define the base of conversions to bits and to labels.

A conversion translates solutions back to the names and the objective of the original.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, Generic, TypeVar, overload

import numpy as np

from ..arrays import ArrayT
from ..constraints import Constraint
from ..decimals import decimal_of
from ..errors import OptionError, did_you_mean, shortened
from ..problems.any_problem import AnyProblem
from ..solution import Solution
from .answer import Answer
from .objective import Objective, beyond, folding_hides_units, total

ProblemT = TypeVar("ProblemT", bound=AnyProblem[Any])

UNSEEN = 1e-9
"""Maximum relative rounding that a bound ignores, as in `Solution.bound`."""


@dataclass(frozen=True, eq=False)
class AnyConversion(ABC, Generic[ProblemT]):
    """Base of conversions: a problem with the names, values and objective of its original.

    original objective(z) = constant + sign * score(z)

    Attributes:
        problem: what to solve.
        sign: 1 if the original is maximised, -1 if it is minimised.
        constant: the original objective at a score of zero.
        names: the original's names of its variables, in the order of z.
        original: the objective as a sum of the original's terms; None for
            constant + sign * score(z).
        constraints: the constraints of the original, which `problem` does not include; `solve` of
            the conversion obeys them.
        fixed: {place in z: state} of variables with a single state, such as the source and the sink
            of a cut.
    """

    problem: ProblemT
    sign: int
    constant: float
    names: Sequence[Hashable]
    original: Objective | None = field(default=None, kw_only=True)
    constraints: tuple[Constraint, ...] = field(default=(), kw_only=True)
    fixed: Mapping[int, int] = field(default_factory=dict, kw_only=True)

    @overload
    def value(self, score: float) -> float: ...
    @overload
    def value(self, score: ArrayT) -> ArrayT: ...
    def value(self, score: Any) -> Any:
        """Return the original objective of scores, which are numbers or arrays of any kind.

        Digits are lost if the constant is much larger than the result; `objective` keeps them.
        """
        return self.constant + self.sign * score

    @overload
    def score(self, value: float) -> float: ...
    @overload
    def score(self, value: ArrayT) -> ArrayT: ...
    def score(self, value: Any) -> Any:
        """Return the scores of original objectives; the inverse of `value`."""
        return self.sign * (value - self.constant)

    @property
    @abstractmethod
    def _rounding(self) -> float:
        """Maximum rounding error of the difference of two scores, compared with the original."""

    @cached_property
    def _hides_units(self) -> bool:
        """Whether rounded coefficients can hide a unit of the original."""
        return self.original is not None and folding_hides_units(self.original)

    @abstractmethod
    def values_of(self, place: int) -> Sequence[Hashable]:
        """Return the original's values of a variable, in the order of its states."""

    @abstractmethod
    def _states_of(self, z: Any) -> np.ndarray:
        """Return the states `[n]` of the original's own variables, as integers.

        Raises:
            ProblemError: `z` has another shape, or other numbers.
        """

    @abstractmethod
    def _score_terms(self, z: Any) -> np.ndarray:
        """Return the terms that add up to the score of an assignment."""

    def _best(self, z: np.ndarray) -> np.ndarray:
        """Return a state in which the bits that the original lacks have their best values."""
        return z

    def _is_as_solved(self, z: Any) -> bool:
        """Return whether the problem's own objective equals the original objective at a state."""
        return True

    def why_not_counted(self) -> str | None:
        """Return why the problem's states do not correspond one to one to the original's.

        None if they do correspond. Sums over states and lists of several states need this.
        """
        return None

    @cached_property
    def places(self) -> Mapping[Hashable, int]:
        """{original name: place in z} of each variable, for use in constraints.

        Example:
            >>> from solvers import solve
            >>> from solvers.constraints import one_of
            >>> from solvers.conversions import from_qubo
            >>> model = from_qubo({("a", "a"): -1.0, ("b", "b"): -2.0, ("c", "c"): -3.0})
            >>> solve(model, constraints=[one_of(model.places[name] for name in "bc")]).assignment
            {'a': 1, 'b': 0, 'c': 1}
        """
        return {name: place for place, name in enumerate(self.names)}

    def objective(self, z: Any) -> float:
        """Return the original objective of an assignment, rounded once.

        The sum is taken over the terms of the original, not over those of `problem`.

        Args:
            z: `[n]` integers, as `Solution.z` has them.

        Raises:
            ProblemError: `z` has another shape, or other numbers.

        Example:
            >>> from solvers.conversions import from_qubo
            >>> model = from_qubo({("a", "a"): 0.1, ("b", "b"): -1e16}, offset=1e16)
            >>> model.objective([1, 1]), float(model.value(model.problem.score([1, 1])))
            (0.1, 0.0)
        """
        states = self._states_of(z)
        if self.original is None:
            return total([self.constant, *(self.sign * self._score_terms(z)).tolist()])
        return self.original.value(states)

    def objective_bound(self, z: Any, bound: float) -> float:
        """Return a bound on the original objective, from a bound on the scores.

        Args:
            z: `[n]` integers, any assignment. Fewer digits are lost if its score is near the bound.
            bound: an upper bound on the scores of all assignments.

        Raises:
            ProblemError: `z` has another shape, or other numbers.
        """
        states = self._states_of(z)
        original = self.original
        if original is None:
            value = self.objective(z)
        else:
            value = total(original.solved_terms(states))
        if not math.isfinite(value):
            return float(self.value(bound))
        gap = max(0.0, total([float(bound), *(-self._score_terms(z)).tolist()]))
        margin = gap + self._rounding
        if original is not None and original.exact is not None:
            if self._is_as_solved(z):
                value = original.value(states)
                # No objective lies between the two values.
                if math.isfinite(margin) and Fraction(margin) < original.exact.unit:
                    return value
            value = math.nextafter(value, self.sign * math.inf)
        elif margin <= UNSEEN * abs(value) and not self._hides_units:
            margin = gap
        limit = beyond(value, self.sign * margin)
        if original is None or self.sign == 1:
            return limit
        return max(limit, original.least)

    def assignment(self, z: Any) -> dict[Hashable, Any]:
        """Return the value of each variable, by its original name.

        Args:
            z: `[n]` integers, as `Solution.z` has them.

        Raises:
            ProblemError: `z` has another shape, or other numbers.
        """
        states = self._states_of(z).tolist()
        return {
            name: self.values_of(place)[state]
            for place, (name, state) in enumerate(zip(self.names, states, strict=True))
        }

    def states(self, assignment: Mapping[Any, Any]) -> dict[int, int]:
        """Return {place: state} of variables by their original names; the inverse of `assignment`.

        A state is an integer, as in `Solution.z`.

        Raises:
            OptionError: an unknown name, or a value that the variable cannot have.

        Example:
            >>> from solvers.conversions import from_ising
            >>> from_ising({"a": 0.5, "b": 0.0}, {("a", "b"): -1.0}).states({"b": -1})
            {1: 0}
        """
        if not isinstance(assignment, Mapping):
            raise OptionError(f"values by name are a dict of names; got {shortened(assignment)}")
        states = {}
        for name, value in assignment.items():
            if name not in self.places:
                raise OptionError(f"{shortened(name)} is no variable; {self._hint(name)}")
            place = self.places[name]
            states[place] = self._state_of(place, value)
        return states

    def _hint(self, name: object) -> str:
        """Return the name nearest to an unknown one, or else list the known names."""
        if hint := did_you_mean(name, self.names):
            return hint.strip()
        if not self.names:
            return "there are none"
        return f"the first one is {shortened(self.names[0])}"

    def _state_of(self, place: int, value: Any) -> int:
        values = list(self.values_of(place))
        if value not in values:
            choice = f"one of {shortened(values)}"
            if len(values) == 2:
                choice = f"{values[0]} or {values[1]}"
            name = shortened(self.names[place])
            raise OptionError(f"{name} cannot be {shortened(value)}; it is {choice}")
        return values.index(value)

    def fix(self, fix: Any) -> Any:
        """Translate `fix` from the names and values of the original to those of the problem.

        The result is the `fix` for `solve` of the problem.

        Raises:
            OptionError: an unknown name, or a value that the variable cannot have.
        """
        if isinstance(fix, Mapping):
            return self.states(fix)
        return fix

    def start(self, start: Any) -> Any:
        """Translate `start` from the names and values of the original to those of the problem.

        The result is the `start` for `solve` of the problem.

        Raises:
            OptionError: a variable has no value, or a value that it cannot have.
        """
        if not isinstance(start, Mapping):
            return start
        states = self.states(start)
        missing = [name for place, name in enumerate(self.names) if place not in states]
        if missing:
            raise OptionError(
                f"start has no value for {shortened(missing[0])}; it needs all variables"
            )
        return self._whole([states[place] for place in range(len(self.names))])

    def _whole(self, states: list[int]) -> list[int]:
        """Return the states of the problem's variables, from those of the original's variables."""
        return states

    def with_constraints(self, constraints: Sequence[Constraint]) -> Sequence[Constraint]:
        """Return the constraints of the original, followed by the constraints of a caller.

        The caller's constraints refer to variables by their places, or by names that are strings.
        They refer to values of labels by (place, state), or by (name, value).

        Raises:
            OptionError: an unknown name, or a list of coefficients of another length.
        """
        return (*self.constraints, *map(self._placed, constraints))

    def _placed(self, constraint: Constraint) -> Constraint:
        """Return a constraint with the names replaced by places in z."""
        if not isinstance(constraint, Constraint) or constraint.coefficients is None:
            return constraint
        constraint.check_length(len(self.names))
        sums: dict[Any, Fraction] = {}
        for name, number in constraint.coefficients.items():
            for place, coefficient in self._columns(constraint, name, number):
                sums[place] = sums.get(place, Fraction(0)) + decimal_of(coefficient)
        numbers = {place: float(number) for place, number in sums.items()}
        # The problem may have more variables than the original.
        return replace(constraint, coefficients=numbers, length=None)

    def _columns(
        self, constraint: Constraint, name: Any, number: float
    ) -> Iterator[tuple[Any, float]]:
        """Yield the columns of the problem for an item in a constraint of the original."""
        if isinstance(name, str):
            yield self._place_of(constraint, name), number
        else:
            yield name, number

    def _place_of(self, constraint: Constraint, name: str) -> int:
        """Return the place of a variable that a constraint names."""
        if name not in self.places:
            raise OptionError(
                f"{constraint.name} names {shortened(name)}, which is no variable; "
                f"{self._hint(name)}"
            )
        return self.places[name]

    def answer(self, solution: Solution[np.ndarray]) -> Answer:
        """Return the answer to a solution of `problem`, with the original's names and values."""
        z = self._best(solution.z.reshape(-1))
        bound = float(np.ravel(solution.bound)[0])
        # If arcs were capped, the two objectives may be far apart, and the value is not proved
        # optimal.
        limit = self.objective_bound(z, bound)
        proved = bool(np.ravel(solution.optimal)[0]) and self._is_as_solved(z)
        if self._hides_units or (self.original is not None and self.original.exact is not None):
            proved = proved and limit == self.objective(z)
        return Answer(
            self.assignment(z), self.objective(z), limit, proved, self.completed(solution)
        )

    def completed(self, solution: Solution[np.ndarray]) -> Solution[np.ndarray]:
        """Return a solution of `problem` in which fixed variables have their values."""
        return solution
