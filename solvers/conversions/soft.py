"""Constraints with products, and soft ones, as auxiliary bits with linear constraints."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from ..constraints import Comparison, Constraint, linear
from ..errors import ProblemError, shortened
from .conversion import Conversion
from .exact import ExactTerms
from .objective import Quadratic, total
from .polynomials.quadratisation import Quadratisation
from .polynomials.thresholds import Threshold, completed
from .terms import Weights, folded

MOST_LEVELS = 1024
"""Maximum number of different violations of a soft constraint; each of them takes a bit."""


@dataclass(frozen=True, eq=False)
class Left:
    """The left side of a constraint minus its right side, in exact decimals.

    Attributes:
        label: of the constraint, for errors.
        coefficients: {place: coefficient}, of variables and of auxiliary bits.
        constant: added to them.
    """

    label: Any
    coefficients: Mapping[int, Fraction]
    constant: Fraction

    def __neg__(self) -> Left:
        negative = {place: -number for place, number in self.coefficients.items()}
        return Left(self.label, negative, -self.constant)

    def value(self, states: np.ndarray) -> Fraction:
        """Return the difference at states `[n + auxiliary]`."""
        chosen = (number for place, number in self.coefficients.items() if states[place])
        return sum(chosen, self.constant)

    def levels(self) -> list[Fraction]:
        """Return the positive numbers that the difference can be, in rising order.

        Raises:
            ProblemError: there are too many of them.
        """
        sums = {self.constant}
        # Larger numbers come first, so that sums are many early.
        for number in sorted(self.coefficients.values(), key=abs, reverse=True):
            sums |= {value + number for value in sums}
            if sum(value > 0 for value in sums) > MOST_LEVELS:
                raise ProblemError(
                    f"the soft constraint {shortened(self.label)} can be violated by more than "
                    f"{MOST_LEVELS} amounts; round its coefficients, or make it a hard constraint"
                )
        return sorted(value for value in sums if value > 0)

    def hard(self, sense: Comparison) -> Constraint:
        """Return the constraint that compares the left side with the right side."""
        numbers = {place: float(number) for place, number in self.coefficients.items()}
        return replace(linear(numbers, sense, float(-self.constant)), name=str(self.label))


@dataclass(frozen=True, eq=False)
class Penalty:
    """weight * violation, or weight * violation^2, of left <= 0."""

    left: Left
    weight: Fraction
    power: int

    def of(self, violation: Fraction) -> Fraction:
        """Return the penalty of a violation."""
        return self.weight * max(Fraction(0), violation) ** self.power


@dataclass(frozen=True, eq=False)
class Penalised:
    """The objective of a model and the penalties of its soft constraints, minimised.

    Attributes:
        objective: without penalties.
        penalties: of soft constraints.
        auxiliary: the bits behind those of the model, over which penalties are.
        folded: the contributions of which the coefficients of the problem are sums.
        summed: maximum number of contributions to one coefficient.
    """

    objective: Quadratic
    penalties: tuple[Penalty, ...]
    auxiliary: tuple[Threshold, ...]
    folded: Weights
    summed: int
    exact: ExactTerms | None = None

    least = -math.inf
    is_solved_exactly = False

    def value(self, z: np.ndarray) -> float:
        """Return the objective with its penalties, rounded once."""
        return total(self.terms(z))

    def terms(self, z: np.ndarray) -> np.ndarray:
        """The terms of the objective, and a penalty of each soft constraint."""
        whole = completed(z.tolist(), self.auxiliary)
        penalties = [float(one.of(one.left.value(whole))) for one in self.penalties]
        return np.concatenate([self.objective.terms(z), np.array(penalties, np.float64)])

    solved_terms = terms

    def coefficients(self) -> np.ndarray:
        """The contributions to the coefficients of the problem."""
        return self.folded

    def most_summed(self) -> int:
        """The most contributions to one coefficient."""
        return self.summed


@dataclass(eq=False)
class Constrained:
    """Constraints of a model over bits, and the bits that they add.

    Attributes:
        n: number of variables of the model.
        pairs: the added terms of the objective, to be maximised, and the added bits.
        hard: linear constraints over all bits.
        penalties: of soft constraints.
        products: {(place, place): place of the bit that is their product}.
    """

    n: int
    pairs: Quadratisation
    hard: list[Constraint] = field(default_factory=list)
    penalties: list[Penalty] = field(default_factory=list)
    products: dict[tuple[int, int], int] = field(default_factory=dict)

    def product(self, i: int, j: int) -> int:
        """Return the place of the bit z_i z_j, which linear constraints make equal to it."""
        low, high = sorted((i, j))
        if (low, high) not in self.products:
            y = self.pairs.bit(Threshold.all_of((low, high)))
            self.products[low, high] = y
            for end in (low, high):
                self.hard.append(linear({y: 1, end: -1}, "<=", 0))
            self.hard.append(linear({low: 1, high: 1, y: -1}, "<=", 1))
        return self.products[low, high]

    def add(self, left: Left, sense: Comparison) -> None:
        """Add a hard constraint."""
        self.hard.append(left.hard(sense))

    def add_soft(self, left: Left, sense: Comparison, weight: Fraction, power: int) -> None:
        """Add a soft constraint; the violation of an equation is that of either side."""
        if sense in ("<=", "=="):
            self._penalise(Penalty(left, weight, power))
        if sense in (">=", "=="):
            self._penalise(Penalty(-left, weight, power))

    def _penalise(self, penalty: Penalty) -> None:
        """Add a bit for each violation v_1 < v_2 < ... that is possible.

        Bit k costs what v_k costs more than v_(k-1), and allows v_k - v_(k-1) more. Since the costs
        of a unit do not fall, the cheapest bits for a violation are the first ones.
        """
        left = penalty.left
        self.penalties.append(penalty)
        places = tuple(left.coefficients)
        weights = tuple(left.coefficients.values())
        numbers = {place: float(number) for place, number in left.coefficients.items()}
        before = Fraction(0)
        for level in left.levels():
            bit = self.pairs.bit(Threshold(places, weights, level - left.constant))
            self.pairs.add((bit,), -float(penalty.of(level) - penalty.of(before)))
            numbers[bit] = -float(level - before)
            before = level
        constraint = linear(numbers, "<=", float(-left.constant))
        self.hard.append(replace(constraint, name=str(left.label)))

    def applied(self, conversion: Conversion) -> Conversion:
        """Return a conversion with these constraints and their auxiliary bits."""
        if not self.pairs.auxiliary:
            return replace(conversion, constraints=tuple(self.hard))
        original: Any = conversion.original
        base = conversion.problem
        added = len(self.pairs.auxiliary)
        unary = np.concatenate([np.asarray(base.unary[0], np.float64), np.zeros(added)])
        unary += self.pairs.arrays()[0]
        problem = folded(unary, base.edges, np.asarray(base.pairwise[0], np.float64))
        auxiliary = tuple(self.pairs.auxiliary)
        if self.penalties:
            terms = np.concatenate([original.coefficients(), self.pairs.contributions])
            summed = max(original.most_summed(), self.pairs.summed)
            penalties = tuple(self.penalties)
            original = Penalised(original, penalties, auxiliary, terms, summed)
        return replace(
            conversion,
            problem=problem,
            auxiliary=auxiliary,
            original=original,
            constraints=tuple(self.hard),
        )
