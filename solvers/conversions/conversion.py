"""A problem with its way back to the objective that it came from."""

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
from ..problems.problem import Problem
from ..solution import Solution
from .any_conversion import AnyConversion
from .objective import Objective, Quadratic, folding_error, sums_are_exact
from .polynomials.thresholds import Threshold, completed
from .sense import Sense, sign_of
from .terms import Linear, Pairs, Weights, folded

Labels: TypeAlias = Sequence[Hashable]

FREE = -1
"""The value of a variable that `fix` leaves free."""


def places_of(labels: Labels) -> dict[Hashable, int]:
    """Where each label stands in z."""
    return {label: place for place, label in enumerate(labels)}


@dataclass(frozen=True, eq=False)
class Conversion(AnyConversion[Problem[np.ndarray]]):
    """A problem over bits with the names, values and objective of the data it was made from.

    original objective(z) = constant + sign * score(z)

    Attributes:
        problem: what to solve.
        sign: 1 where the original is maximised, -1 where it is minimised.
        constant: the original objective of a score of zero.
        names: `[n]`, what the original calls each variable, in the order of z.
        values: what the original calls 0 and 1: -1 and 1 where its variables are spins.
        original: the objective in the original's own terms; None where it is constant + sign *
            score(z).
        constraints: what the original asks of the variables, which `problem` alone does not know;
            `solve` of the conversion keeps to them.
        fixed: {place in z: value} of variables that have no choice, such as the source and the sink
            of a cut.
        auxiliary: the bits of `problem` behind the original's variables. They stand for what pairs
            of the original's variables cannot say, such as products of three.
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
        message = "Conversion.labels is now Conversion.names; the old name goes in the next release"
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
        """Return what the original calls 0 and 1."""
        if place in self.spins:
            return -1, 1
        return self.values

    def _score_terms(self, z: Any) -> np.ndarray:
        """The coefficients of the problem that a state has."""
        z = self._complete(z)
        first, second = self.problem.topology.pairs.T
        unary = np.asarray(self.problem.unary[0], np.float64)
        pairwise = np.asarray(self.problem.pairwise[0], np.float64)
        return np.concatenate([unary[z == 1], pairwise[(z[first] == 1) & (z[second] == 1)]])

    def _states_of(self, z: Any) -> np.ndarray:
        """`[n]` integers, those of fixed variables as they have to be."""
        return self._checked(z)[: len(self.names)]

    def _complete(self, z: Any) -> np.ndarray:
        """`[n + auxiliary]` integers; auxiliary bits that `z` lacks have their best values."""
        states = self._checked(z)
        if len(states) == self.problem.n:
            return states
        return completed(states.tolist(), self.auxiliary)

    def _checked(self, z: Any) -> np.ndarray:
        """`[n]` or `[n + auxiliary]` integers."""
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
        """A solution of `problem`, in which the fixed variables have their values."""
        if not self.fixed:
            return solution
        z = solution.z.copy()
        z[..., list(self.fixed)] = list(self.fixed.values())
        return replace(solution, z=z)

    def _placed(self, constraint: Constraint) -> Constraint:
        """Return a constraint over z: a sum of spins s = 2 z - 1 becomes a sum over z."""
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
        """Return a constraint over all variables as one over those of the original."""
        if constraint.coefficients is not None:
            return constraint
        return replace(constraint, coefficients=dict.fromkeys(range(len(self.names)), 1.0))

    def fix(self, fix: Any) -> Any:
        """Return what a caller fixes and what has no choice, as `solve` of the problem takes it.

        Raises:
            OptionError: they differ.
        """
        fix = self._padded(super().fix(fix))
        if not self.fixed:
            return fix
        if fix is None or isinstance(fix, Mapping):
            return {**(fix or {}), **self.fixed}
        values = to_numpy(as_array(fix, "fix"))
        if values.shape[-1:] != (len(self.names),):
            return fix  # which is refused for its shape
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
            OptionError: a variable has no value, or one that it cannot have.
        """
        start = super().start(start)
        if not self.auxiliary or start is None:
            return start
        states = to_numpy(as_array(start, "start"))
        if states.shape != (len(self.names),):
            return start  # refused by its shape, if it is not whole
        return self._complete(states)

    def _whole(self, states: list[int]) -> list[int]:
        whole: list[int] = completed(states, self.auxiliary).tolist()
        return whole

    def _padded(self, fix: Any) -> Any:
        """Return values to fix with free auxiliary bits."""
        if not self.auxiliary or fix is None or isinstance(fix, Mapping):
            return fix
        values = to_numpy(as_array(fix, "fix"))
        if values.shape != (len(self.names),):
            return fix  # refused by its shape, if it is not whole
        return np.concatenate([values, np.full(len(self.auxiliary), FREE)])


def sense_and_offset(sense: Any, offset: Any) -> tuple[Sense, Any]:
    """Return the sense and the constant that a caller passed.

    A sense in the place of the offset is read as a sense, since it stood there before.
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
    sign = sign_of(sense)
    if not math.isfinite(constant):
        raise ProblemError(
            f"the constant terms add up to {constant}; divide all terms by a constant"
        )
    original = original or Quadratic((constant,), linear, pairs, weights)
    problem = folded(sign * linear, pairs, sign * weights)
    return Conversion(problem, sign, constant, labels, values, original=original)
