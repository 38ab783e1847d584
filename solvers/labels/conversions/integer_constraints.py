"""Express products and soft constraints over integers by added variables of several values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from ...constraints import Comparison, Constraint, Place, linear
from ...conversions.penalties import Penalty, SoftConstraints, room_for_rounding, violations
from ...errors import ProblemError, shortened
from .factors import MOST_TUPLES, Factor

Products: TypeAlias = Mapping[tuple[int, ...], Fraction]
"""{places of one or two variables: coefficient} of the product of their values."""


@dataclass(frozen=True, eq=False)
class Side:
    """Left side of a constraint minus its right side, in exact decimals.

    Attributes:
        label: the label of the constraint, for errors.
        products: the terms of the difference.
        constant: the constant term.
    """

    label: Any
    products: Products
    constant: Fraction

    def __neg__(self) -> Side:
        negative = {scope: -number for scope, number in self.products.items()}
        return Side(self.label, negative, -self.constant)

    def value(self, numbers: Sequence[int]) -> Fraction:
        """Return the difference for given numbers of all variables."""
        terms = self.products.items()
        products = (a * math.prod(numbers[place] for place in scope) for scope, a in terms)
        return sum(products, self.constant)


@dataclass(eq=False)
class IntegerConstraints(SoftConstraints[Side]):
    """Constraints of a model over labels, with the variables that they add.

    Attributes:
        values: the numbers that each variable can be; those of added variables come last.
        ties: tables that make added variables equal to products, infinite elsewhere.
        costs: tables of penalties.
        constraints: linear constraints over (variable, state).
        penalties: the penalties of soft constraints.
    """

    values: list[Sequence[Any]]
    ties: list[Factor] = field(default_factory=list)
    costs: list[Factor] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
    penalties: list[Penalty[Side]] = field(default_factory=list)
    _products: dict[tuple[int, ...], int] = field(default_factory=dict)

    def add(self, side: Side, sense: Comparison) -> None:
        """Add a hard constraint."""
        self._compare(side, self._numbers(side), sense)

    def _penalise(self, penalty: Penalty[Side]) -> None:
        """Add a variable whose value is the violation that a constraint allows."""
        side = penalty.difference
        self.penalties.append(penalty)
        numbers = self._numbers(side)  # first, since it raises for products of too many values
        levels = [Fraction(0), *self._levels(side)]
        allowed = len(self.values)
        self.values.append(levels)
        costs = np.array([float(penalty.of(level)) for level in levels])
        self.costs.append(((allowed,), costs))
        for state, level in enumerate(levels):
            numbers[allowed, state] = -level
        room = room_for_rounding(side.label, [*numbers.values(), side.constant], levels)
        self._compare(side, numbers, "<=", room)

    def _compare(
        self,
        side: Side,
        numbers: Mapping[tuple[int, int], Fraction],
        sense: Comparison,
        room: float = 0.0,
    ) -> None:
        """Add a linear constraint over (variable, state), with some room for rounding."""
        coefficients: dict[Place, float] = {
            place: float(number) for place, number in numbers.items() if number
        }
        constraint = linear(coefficients, sense, float(-side.constant) + room)
        self.constraints.append(replace(constraint, name=str(side.label)))

    def _numbers(self, side: Side) -> dict[tuple[int, int], Fraction]:
        """Return {(variable, state): number} of the terms of a constraint."""
        numbers: dict[tuple[int, int], Fraction] = {}
        for scope, coefficient in side.products.items():
            if len(set(scope)) == 1:  # a variable, or one of its powers
                place = scope[0]
                products = [value ** len(scope) for value in self.values[place]]
            else:
                place = self._product(side, scope)
                products = [first * second for first, second in self.values[place]]
            for state, product in enumerate(products):
                before = numbers.get((place, state), Fraction(0))
                numbers[place, state] = before + coefficient * product
        return numbers

    def _product(self, side: Side, scope: tuple[int, ...]) -> int:
        """Return the variable whose values are the pairs of values of two variables.

        Raises:
            ProblemError: there are too many pairs.
        """
        if scope in self._products:
            return self._products[scope]
        first, second = (self.values[place] for place in scope)
        count = len(first) * len(second)
        if count > MOST_TUPLES:
            raise ProblemError(
                f"the constraint {shortened(side.label)} has a product of {count} pairs of values; "
                f"one may have {MOST_TUPLES}. Set narrower bounds of its integers"
            )
        place = len(self.values)
        self._products[scope] = place
        self.values.append([(one, other) for one in first for other in second])
        states = np.divmod(np.arange(count), len(second))
        for end, state in zip(scope, states, strict=True):
            agrees = np.arange(len(self.values[end]))[:, None] == state
            self.ties.append(((end, place), np.where(agrees, 0.0, np.inf)))
        return place

    def _levels(self, side: Side) -> list[Fraction]:
        """Return the positive values that a side may have, in rising order.

        Raises:
            ProblemError: there are too many such values.
        """
        choices: list[list[Fraction]] = []
        for scope, coefficient in side.products.items():
            products = _products_of([self.values[place] for place in scope], scope)
            choices.append([coefficient * product for product in products])
        return violations(side.label, side.constant, choices)


def _products_of(values: list[Sequence[int]], scope: tuple[int, ...]) -> Iterable[int]:
    """Return the different products of the values of a scope, which may repeat a variable."""
    if len(set(scope)) == 1:
        return {value ** len(scope) for value in values[0]}
    return {one * other for one in values[0] for other in values[1]}
