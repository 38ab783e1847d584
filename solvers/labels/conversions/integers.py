"""Constrained quadratic models with integers, each of which is a variable of several values."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...constraints import Constraint, Place, linear
from ...errors import ProblemError, shortened
from .conversion import LabelConversion
from .factors import Factor, from_factors

MOST_NUMBERS = 1 << 16
"""Maximum number of values of an integer."""


def from_integers(model: Any) -> LabelConversion:
    """Return the conversion of a constrained quadratic model, whose integers are labels.

    Raises:
        ProblemError: a real variable, an integer of too many values, or a constraint that is soft
            or has products.
    """
    names = list(model.variables)
    values = [_values(model, name) for name in names]
    place = {name: number for number, name in enumerate(names)}
    conversion = from_factors(
        [len(numbers) for numbers in values],
        _factors(model.objective, place, values),
        sense="minimise",
        constant=float(model.objective.offset),
        names=names,
        values=values,
    )
    constraints = tuple(
        _constraint(label, comparison, place, values)
        for label, comparison in model.constraints.items()
    )
    return replace(conversion, constraints=constraints)


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


def _constraint(
    label: Any, comparison: Any, place: Mapping[Any, int], values: list[Sequence[int]]
) -> Constraint:
    """Return a constraint over (variable, value)."""
    left = comparison.lhs
    if not left.is_linear():
        raise ProblemError(
            f"the constraint {shortened(label)} has products, and the model has integers; products "
            "in constraints are for models of binaries and spins"
        )
    if left.is_soft():
        raise ProblemError(
            f"the constraint {shortened(label)} is soft, and the model has integers; soft "
            "constraints are for models of binaries and spins. Write it as a penalty"
        )
    numbers: dict[Place, float] = {}
    for name, bias in left.linear.items():
        for state, value in enumerate(values[place[name]]):
            if bias and value:
                numbers[place[name], state] = float(Fraction(repr(float(bias))) * value)
    right = float(Fraction(repr(float(comparison.rhs))) - Fraction(repr(float(left.offset))))
    return replace(linear(numbers, comparison.sense.value, right), name=str(label))
