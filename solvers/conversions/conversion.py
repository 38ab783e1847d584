"""Conversion to a problem over bits, which translates solutions back to the original."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, cast

import numpy as np

from ..arrays import as_array, to_numpy
from ..constraints import Constraint
from ..decimals import decimal_of
from ..errors import OptionError, ProblemError, shortened
from ..problems.fixed_values import FREE
from ..problems.problem import Problem
from ..solution import Solution
from .any_conversion import AnyConversion
from .objective import Objective, Quadratic, folding_error, sums_are_exact
from .polynomials.thresholds import Threshold, completed
from .sense import Sense, sign_of
from .terms import Linear, Pairs, Weights, folded

Labels: TypeAlias = Sequence[Hashable]


def places_of(labels: Labels) -> dict[Hashable, int]:
    """Return the place of each label in z."""
    return {label: place for place, label in enumerate(labels)}


@dataclass(frozen=True, eq=False)
class Conversion(AnyConversion[Problem[np.ndarray]]):
    """Problem over bits with the names, values and objective of its original.

    original objective(z) = constant + sign * score(z)

    Attributes:
        problem: what to solve.
        sign: 1 if the original is maximised, -1 if it is minimised.
        constant: the original objective at a score of zero.
        names: `[n]`, the original's names of its variables, in the order of z.
        values: the original's values for 0 and 1; -1 and 1 if its variables are spins.
        original: the objective as a sum of the original's terms; None for
            constant + sign * score(z).
        constraints: the constraints of the original, which `problem` does not include; `solve` of
            the conversion obeys them.
        fixed: {place in z: value} of variables with a single value, such as the source and the sink
            of a cut.
        auxiliary: the bits of `problem` behind the original's variables. They represent terms that
            pairs of the original's variables cannot express, such as products of three variables.
        spins: the places of spins, if the original has both bits and spins.

    Example:
        >>> from solvers.conversions import from_qubo
        >>> conversion = from_qubo({("a", "a"): 1.0, ("a", "b"): -3.0})
        >>> z = [1, 1]
        >>> float(conversion.value(conversion.problem.score(z))), conversion.assignment(z)
        (-2.0, {'a': 1, 'b': 1})
    """

    values: tuple[int, int] = (0, 1)
    auxiliary: tuple[Threshold, ...] = ()
    spins: frozenset[int] = frozenset()

    @property
    def labels(self) -> Labels:
        """The former name of `names`."""
        message = "Conversion.labels is now Conversion.names; the next release removes the old name"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.names

    @cached_property
    def _rounding(self) -> float:
        problem = self.problem
        folding = 0.0
        if self.original is not None:
            folding = folding_error(self.original)
        if sums_are_exact(np.concatenate([np.ravel(problem.unary), np.ravel(problem.pairwise)])):
            return folding
        return folding + float(problem.rounding[0])

    def why_not_counted(self) -> str | None:
        """Return why the problem's states do not correspond one to one to the original's."""
        if not self.auxiliary:
            return None
        return (
            f"the problem has {len(self.auxiliary)} auxiliary bits, and states that differ in them "
            "alone would count several times; of a polynomial, reduction='labels' has none"
        )

    def values_of(self, place: int) -> tuple[int, int]:
        """Return the original's values for 0 and 1."""
        if place in self.spins:
            return -1, 1
        return self.values

    def _score_terms(self, z: Any) -> np.ndarray:
        """Return the coefficients of the problem that a state adds up."""
        z = self._complete(z)
        first, second = self.problem.topology.pairs.T
        unary = np.asarray(self.problem.unary[0], np.float64)
        pairwise = np.asarray(self.problem.pairwise[0], np.float64)
        return np.concatenate([unary[z == 1], pairwise[(z[first] == 1) & (z[second] == 1)]])

    def _states_of(self, z: Any) -> np.ndarray:
        """Return the original's states `[n]`, with fixed variables at their values."""
        return self._checked(z)[: len(self.names)]

    def _complete(self, z: Any) -> np.ndarray:
        """Return `[n + auxiliary]` integers, with the best auxiliary bits if missing in `z`."""
        states = self._checked(z)
        if len(states) == self.problem.n:
            return states
        return completed(states.tolist(), self.auxiliary)

    def _checked(self, z: Any) -> np.ndarray:
        """Check a state, and return its `[n]` or `[n + auxiliary]` integers."""
        states = to_numpy(as_array(z, "z"))
        if states.shape not in ((len(self.names),), (self.problem.n,)):
            raise ProblemError(f"z must be [{len(self.names)}]; its shape is {states.shape}")
        if states.dtype.kind not in "biuf" or not ((states == 0) | (states == 1)).all():
            raise ProblemError(f"z must hold zeros and ones; got {shortened(z)}")
        states = states.astype(np.int64)
        if self.fixed:
            states[list(self.fixed)] = list(self.fixed.values())
        return states

    def _state_of(self, place: int, value: Any) -> int:
        state = super()._state_of(place, value)
        if self.fixed.get(place, state) != state:
            name = shortened(self.names[place])
            raise OptionError(
                f"{name} is {self.values_of(place)[1 - state]} and cannot be {shortened(value)}"
            )
        return state

    def _best(self, z: np.ndarray) -> np.ndarray:
        return self._complete(z[: len(self.names)])

    def _is_as_solved(self, z: Any) -> bool:
        if self.original is None or self.original.is_solved_exactly:
            return True
        z = self._states_of(z)
        return bool(np.array_equal(self.original.terms(z), self.original.solved_terms(z)))

    def completed(self, solution: Solution[np.ndarray]) -> Solution[np.ndarray]:
        """Return a solution of `problem` in which the fixed variables have their values."""
        if not self.fixed:
            return solution
        z = solution.z.copy()
        z[..., list(self.fixed)] = list(self.fixed.values())
        return replace(solution, z=z)

    def _placed(self, constraint: Constraint) -> Constraint:
        """Return a constraint over z, in which a sum of spins s = 2 z - 1 becomes a sum over z."""
        constraint = super()._placed(constraint)
        if self.auxiliary and isinstance(constraint, Constraint):
            constraint = self._without_auxiliary(constraint)
        if not isinstance(constraint, Constraint) or constraint.counts:
            return constraint
        numbers: dict[Any, float] = dict(constraint.coefficients or {})
        spins = [place for place in numbers if self.values_of(place) == (-1, 1)]
        if not spins:
            return constraint
        # as decimals: sum c s = 2 sum c z - sum c
        right = decimal_of(constraint.right)
        for place in spins:
            right += decimal_of(numbers[place])
            numbers[place] *= 2
        return replace(constraint, coefficients=numbers, right=float(right))

    def _without_auxiliary(self, constraint: Constraint) -> Constraint:
        """Return a constraint over all variables, rewritten over the variables of the original."""
        if constraint.coefficients is not None:
            return constraint
        return replace(constraint, coefficients=dict.fromkeys(range(len(self.names)), 1.0))

    def fix(self, fix: Any) -> Any:
        """Return the values that a caller fixes, and those of `fixed`, for `solve` of the problem.

        Raises:
            OptionError: the caller's value of a fixed variable differs.
        """
        fix = self._padded(super().fix(fix))
        if not self.fixed:
            return fix
        if fix is None or isinstance(fix, Mapping):
            return {**(fix or {}), **self.fixed}
        values = to_numpy(as_array(fix, "fix"))
        if values.shape[-1:] != (len(self.names),):
            return fix  # its shape raises an error later
        values = values.copy()
        for place, state in self.fixed.items():
            fixed = values[..., place]
            if not ((fixed == state) | (fixed == FREE)).all():
                name = shortened(self.names[place])
                raise OptionError(f"fix gives {name} the value {fixed.ravel()[0]}; it is {state}")
            values[..., place] = state
        return values

    def start(self, start: Any) -> Any:
        """Translate `start` from the names and values of the original to those of the problem.

        Auxiliary bits get their best values.

        Raises:
            OptionError: a variable has no value, or a value that it cannot have.
        """
        start = super().start(start)
        if not self.auxiliary or start is None:
            return start
        states = to_numpy(as_array(start, "start"))
        if states.shape != (len(self.names),):
            return start  # a wrong shape raises an error later
        return self._complete(states)

    def _whole(self, states: list[int]) -> list[int]:
        whole: list[int] = completed(states, self.auxiliary).tolist()
        return whole

    def _padded(self, fix: Any) -> Any:
        """Return the values to fix, with auxiliary bits left free."""
        if not self.auxiliary or fix is None or isinstance(fix, Mapping):
            return fix
        values = to_numpy(as_array(fix, "fix"))
        if values.shape != (len(self.names),):
            return fix  # a wrong shape raises an error later
        return np.concatenate([values, np.full(len(self.auxiliary), FREE)])


def sense_and_offset(sense: Any, offset: Any) -> tuple[Sense, Any]:
    """Return the sense and the constant that a caller passed.

    A sense in place of the offset is read as a sense, since it used to be that argument.
    """
    if isinstance(offset, str):
        return cast("Sense", offset), 0.0
    return sense, offset


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
    """Convert the objective constant + sum linear_i z_i + sum weights_ij z_i z_j.

    Args:
        sense: whether the objective is minimised or maximised.
        labels: `[n]`.
        linear: `[n]`.
        pairs: `[e, 2]`, as `folded` takes them.
        weights: `[e]`.
        constant: the objective if all variables are zero.
        values: the original's values for 0 and 1.
        original: the objective as the caller wrote it; None if it has these terms.

    Raises:
        OptionError: `sense` is not a known word.
        ProblemError: terms that are not finite, or that overflow.
    """
    sign = sign_of(sense)
    if not math.isfinite(constant):
        raise ProblemError(
            f"the constant terms add up to {constant}; divide all terms by a constant"
        )
    original = original or Quadratic((constant,), linear, pairs, weights)
    problem = folded(sign * linear, pairs, sign * weights)
    return Conversion(problem, sign, constant, labels, values, original=original)
