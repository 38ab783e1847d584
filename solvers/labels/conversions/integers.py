"""Convert constrained quadratic models whose integers become variables of several values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from ...conversions.objective import FactorSum
from ...conversions.penalties import Penalised
from ...decimals import decimal_of
from ...errors import ProblemError, shortened
from .conversion import LabelConversion
from .factors import Factor, from_factors
from .integer_constraints import IntegerConstraints, Side

MOST_NUMBERS = 1 << 16
"""Maximum number of values of an integer."""


def from_integers(model: Any) -> LabelConversion:
    """Return the conversion of a constrained quadratic model, whose integers are labels.

    Raises:
        ProblemError: a variable is real, an integer has too many values, a product has more than
            4,096 pairs of values, a coefficient is not finite, or the violations of a soft
            constraint are more than 1,024 or differ by less than rounding.
    """
    names = list(model.variables)
    values = [_values(model, name) for name in names]
    place = {name: number for number, name in enumerate(names)}
    sides = IntegerConstraints(list(values))
    for label, comparison in model.constraints.items():
        _add(sides, label, comparison, place)
    factors = list(_factors(model.objective, place, values))
    # Products of integers become extra variables, whose values only have numbers as names.
    added = [range(len(states)) for states in sides.values[len(names) :]]
    conversion = from_factors(
        [len(states) for states in sides.values],
        [*factors, *sides.ties, *sides.costs],
        sense="minimise",
        constant=float(model.objective.offset),
        values=[*values, *added],
    )
    original: Any = FactorSum(float(model.objective.offset), factors)
    # The value of an answer includes its violations, however the labels express them.
    if sides.penalties:
        original = Penalised(
            original,
            tuple(sides.penalties),
            partial(_numbers, values),
            np.concatenate([original.coefficients(), *(costs for _, costs in sides.costs)]),
            original.most_summed() + 1,
        )
    return replace(
        conversion,
        names=names,
        values=values,
        original=original,
        constraints=tuple(sides.constraints),
        loose=len(sides.penalties),
    )


def _values(model: Any, name: Any) -> Sequence[int]:
    """Return the numbers that a variable can be."""
    kind = model.vartype(name).name
    if kind == "BINARY":
        return (0, 1)
    if kind == "SPIN":
        return (-1, 1)
    if kind != "INTEGER":
        raise ProblemError(
            f"{shortened(name)} is of the type {kind}; variables are binaries, spins or integers"
        )
    least = math.ceil(model.lower_bound(name))
    most = math.floor(model.upper_bound(name))
    if not 0 < most - least + 1 <= MOST_NUMBERS:
        raise ProblemError(
            f"the integer {shortened(name)} is from {least} to {most}; one may have 1 to "
            f"{MOST_NUMBERS} values. Set its lower_bound and upper_bound"
        )
    return range(least, most + 1)


def _numbers(values: Sequence[Sequence[int]], z: np.ndarray) -> list[int]:
    """Return the number that each variable of the model is at a state."""
    return [values[place][state] for place, state in enumerate(z.tolist())]


def _factors(
    objective: Any, place: Mapping[Any, int], values: list[Sequence[int]]
) -> Iterator[Factor]:
    """Yield the terms of the objective as tables."""
    for name, bias in objective.linear.items():
        numbers = np.array(values[place[name]], np.float64)
        yield (place[name],), float(bias) * numbers
    for (u, v), bias in objective.quadratic.items():
        first = np.array(values[place[u]], np.float64)
        second = np.array(values[place[v]], np.float64)
        if u == v:  # the square of an integer
            yield (place[u],), float(bias) * first**2
        else:
            yield (place[u], place[v]), float(bias) * np.outer(first, second)


def _add(sides: IntegerConstraints, label: Any, comparison: Any, place: Mapping[Any, int]) -> None:
    """Add one of the constraints of a model."""
    left = comparison.lhs
    products: dict[tuple[int, ...], Fraction] = {}
    for name, bias in left.linear.items():
        products[(place[name],)] = decimal_of(bias)
    for ends, bias in left.quadratic.items():
        products[tuple(sorted(place[name] for name in ends))] = decimal_of(bias)
    products = {scope: number for scope, number in products.items() if number}
    side = Side(label, products, decimal_of(left.offset) - decimal_of(comparison.rhs))
    if not left.is_soft():
        sides.add(side, comparison.sense.value)
        return
    power = 1
    if left.penalty() == "quadratic":
        power = 2
    sides.add_soft(side, comparison.sense.value, decimal_of(left.weight()), power)
