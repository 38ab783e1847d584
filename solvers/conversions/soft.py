"""Express products in constraints, and soft constraints, by auxiliary bits and linear ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from ..constraints import Comparison, Constraint, implies, linear
from .conversion import Conversion
from .penalties import Penalised, Penalty, SoftConstraints, room_for_rounding, violations
from .polynomials.quadratisation import Quadratisation
from .polynomials.thresholds import Threshold, completed
from .terms import folded


@dataclass(frozen=True, eq=False)
class Left:
    """Left side of a constraint minus its right side, in exact decimals.

    Attributes:
        label: the label of the constraint, for errors.
        coefficients: {place: coefficient} of variables and of auxiliary bits.
        constant: the constant term.
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
        """Return the positive values that the difference can have, in rising order.

        Raises:
            ProblemError: there are too many such values.
        """
        choices = ((Fraction(0), number) for number in self.coefficients.values())
        return violations(self.label, self.constant, choices)

    def hard(self, sense: Comparison, room: float = 0.0) -> Constraint:
        """Return the constraint that compares the left side with the right side plus some room."""
        numbers = {place: float(number) for place, number in self.coefficients.items()}
        right = float(-self.constant) + room
        return replace(linear(numbers, sense, right), name=str(self.label))


@dataclass(eq=False)
class Constrained(SoftConstraints[Left]):
    """Constraints of a model over bits, with the bits that they add.

    Attributes:
        n: number of variables of the model.
        pairs: the added terms of the objective, to be maximised, and the added bits.
        hard: linear constraints over all bits.
        penalties: the penalties of soft constraints.
        products: {(place, place): place of the bit that is their product}.
    """

    n: int
    pairs: Quadratisation
    hard: list[Constraint] = field(default_factory=list)
    penalties: list[Penalty[Left]] = field(default_factory=list)
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

    def _penalise(self, penalty: Penalty[Left]) -> None:
        """Add a bit for each possible violation v_1 < v_2 < ....

        Bit k costs the difference between the costs of v_k and v_(k-1), and allows v_k - v_(k-1)
        more. The cost per unit does not fall, so the cheapest bits for a violation are the first
        ones.
        """
        left = penalty.difference
        self.penalties.append(penalty)
        places = tuple(left.coefficients)
        weights = tuple(left.coefficients.values())
        numbers = dict(left.coefficients)
        bits = []
        levels = [Fraction(0), *left.levels()]
        for before, level in pairwise(levels):
            bit = self.pairs.bit(Threshold(places, weights, level - left.constant))
            self.pairs.add((bit,), -float(penalty.of(level) - penalty.of(before)))
            numbers[bit] = before - level
            bits.append(bit)
        room = room_for_rounding(left.label, [*numbers.values(), left.constant], levels)
        self.hard.append(Left(left.label, numbers, left.constant).hard("<=", room))
        if room:  # bits other than the first ones could add up to a level minus the room
            self.hard.extend(implies(after, before) for before, after in pairwise(bits))

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
            original = Penalised(
                original,
                tuple(self.penalties),
                partial(_all_bits, auxiliary),
                np.concatenate([original.coefficients(), self.pairs.contributions]),
                max(original.most_summed(), self.pairs.summed),
            )
        return replace(
            conversion,
            problem=problem,
            auxiliary=auxiliary,
            original=original,
            constraints=tuple(self.hard),
        )


def _all_bits(auxiliary: tuple[Threshold, ...], z: np.ndarray) -> np.ndarray:
    """Return the states of all bits, from the states of the model's bits."""
    return completed(z.tolist(), auxiliary)
