"""Penalties of soft constraints, and the objective of a model with penalties."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from ..constraints import Comparison
from ..decimals import FLOAT_HOLDS, decimal_of
from ..errors import ProblemError, shortened
from .exact import ExactTerms
from .objective import Objective, total

ROUNDING = Fraction(1, 2**52)
"""Rounding error of each number of a constraint, as a share of the sum of their magnitudes."""

MOST_LEVELS = 1024
"""Maximum number of different violations of a soft constraint."""


class Difference(Protocol):
    """Left side of a constraint minus its right side, in exact decimals."""

    def __neg__(self: DifferenceT) -> DifferenceT:
        """Return the right side minus the left side."""

    def value(self, numbers: Any) -> Fraction:
        """Return the difference for given numbers of all variables."""


DifferenceT = TypeVar("DifferenceT", bound=Difference)


@dataclass(frozen=True, eq=False)
class Penalty(Generic[DifferenceT]):
    """Penalty weight * violation^power of the constraint difference <= 0."""

    difference: DifferenceT
    weight: Fraction
    power: int

    def of(self, violation: Fraction) -> Fraction:
        """Return the penalty of a violation."""
        return self.weight * max(Fraction(0), violation) ** self.power

    def at(self, numbers: Any) -> float:
        """Return the penalty for given numbers of all variables."""
        return float(self.of(self.difference.value(numbers)))


class SoftConstraints(ABC, Generic[DifferenceT]):
    """Soft constraints of a model, each of which becomes one or two penalties."""

    def add_soft(
        self, difference: DifferenceT, sense: Comparison, weight: Fraction, power: int
    ) -> None:
        """Add a soft constraint; an equation can be violated on either side."""
        if sense in ("<=", "=="):
            self._penalise(Penalty(difference, weight, power))
        if sense in (">=", "=="):
            self._penalise(Penalty(-difference, weight, power))

    @abstractmethod
    def _penalise(self, penalty: Penalty[DifferenceT]) -> None:
        """Add a penalty to the problem."""


@dataclass(frozen=True, eq=False)
class Penalised:
    """Objective of a model plus the penalties of its soft constraints, minimised.

    Attributes:
        objective: the objective without penalties.
        penalties: the penalties of soft constraints.
        numbers: returns the numbers of all variables at a state z, as penalties take them.
        contributions: the terms that the coefficients of the problem add up.
        summed: maximum number of contributions to one coefficient.
    """

    objective: Objective
    penalties: Sequence[Penalty[Any]]
    numbers: Callable[[np.ndarray], Any]
    contributions: np.ndarray
    summed: int
    exact: ExactTerms | None = None

    least = -math.inf
    is_solved_exactly = False

    def value(self, z: np.ndarray) -> float:
        """Return the objective with its penalties, rounded once."""
        return total(self.terms(z))

    def terms(self, z: np.ndarray) -> np.ndarray:
        """Return the terms of the objective, followed by the penalty of each soft constraint."""
        numbers = self.numbers(z)
        penalties = [penalty.at(numbers) for penalty in self.penalties]
        return np.concatenate([self.objective.terms(z), np.array(penalties, np.float64)])

    solved_terms = terms

    def coefficients(self) -> np.ndarray:
        """Return the contributions to the coefficients of the problem."""
        return self.contributions

    def most_summed(self) -> int:
        """Return the maximum number of contributions to one coefficient."""
        return self.summed


def violations(
    label: Any, constant: Fraction, choices: Iterable[Iterable[Fraction]]
) -> list[Fraction]:
    """Return the positive values of a sum of one number per choice, in rising order.

    Args:
        label: the label of the soft constraint, for errors.
        constant: the number that is added to the sum.
        choices: the possible numbers of every term.

    Raises:
        ProblemError: the sum has more than `MOST_LEVELS` positive values.
    """
    terms = [sorted(set(numbers), reverse=True) for numbers in choices]
    remaining = sum((numbers[0] for numbers in terms), Fraction(0))
    sums: set[Fraction] = set()
    if constant + remaining > 0:
        sums.add(constant)
    for numbers in terms:
        remaining -= numbers[0]
        longer: set[Fraction] = set()
        for before in sums:
            longer.update(_above(before, numbers, -remaining))
            # Every sum here can still become positive, and different sums stay different.
            if len(longer) > MOST_LEVELS:
                raise ProblemError(
                    f"the soft constraint {shortened(label)} can be violated by more than "
                    f"{MOST_LEVELS} amounts; round its coefficients, or make it a hard constraint"
                )
        sums = longer
    return sorted(sums)


def room_for_rounding(label: Any, row: Sequence[Fraction], levels: Sequence[Fraction]) -> float:
    """Return how far above each level a constraint must reach, since floats are rounded.

    The constraint gets no more room than half the smallest distance between two levels.

    Args:
        label: the label of the soft constraint, for errors.
        row: all coefficients of the constraint and its right side.
        levels: the violations that it allows, 0 first, in rising order.

    Raises:
        ProblemError: two levels are so close that rounding could confuse them.
    """
    unit = math.lcm(*(number.denominator for number in row))
    magnitude = sum(map(abs, row), Fraction(0))
    rounded = any(decimal_of(number) != number for number in row)
    if len(levels) == 1 or (magnitude * unit < FLOAT_HOLDS and not rounded):
        return 0.0
    # With more than half the distance, the next level would be accepted in place of this one.
    room = min(after - before for before, after in pairwise(levels)) / 2
    if room <= ROUNDING * (len(row) + 2) * magnitude:
        raise ProblemError(
            f"violations of the soft constraint {shortened(label)} differ by less than rounding; "
            "round its coefficients, or make it a hard constraint"
        )
    return float(room)


def _above(before: Fraction, falling: Sequence[Fraction], least: Fraction) -> Iterable[Fraction]:
    """Yield the sums of `before` and a number that exceed `least`, and no more than are needed."""
    for number in falling[: MOST_LEVELS + 1]:
        after = before + number
        if after <= least:
            return
        yield after
