"""Convert discrete quadratic models of dimod, and constrained ones with integers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...errors import ProblemError, shortened
from .conversion import LabelConversion
from .factors import Factor, from_factors
from .integers import from_integers

PARTS = ("variables", "num_cases", "get_linear", "get_quadratic", "adj", "offset")
"""Attributes of a discrete quadratic model."""


def from_dimod(dqm: Any) -> LabelConversion:
    """Convert a discrete or constrained quadratic model of dimod, which is minimised.

    Its variables become those of the problem, and its cases become their values. The values of an
    integer are its numbers, and those of a spin are -1 and 1.

    Args:
        dqm: a `dimod.DiscreteQuadraticModel` or a `dimod.ConstrainedQuadraticModel`. Binary models
            go to `solvers.conversions.from_dimod`.

    Raises:
        ProblemError: `dqm` is not such a model, has biases that are not finite, has real variables,
            or has integers of more than 65,536 values.

    Example:
        >>> import dimod
        >>> from solvers.labels import solve
        >>> colours = dimod.DiscreteQuadraticModel()
        >>> for country in ("France", "Spain", "Portugal"):
        ...     _ = colours.add_variable(3, label=country)
        >>> for pair in (("France", "Spain"), ("Spain", "Portugal")):
        ...     colours.set_quadratic(*pair, {(colour, colour): 1.0 for colour in range(3)})
        >>> colours.set_linear("France", [0.0, 0.5, 0.5])
        >>> answer = solve(from_dimod(colours))
        >>> answer.assignment["France"], answer.value, answer.optimal
        (0, 0.0, True)
    """
    if hasattr(dqm, "objective") and hasattr(dqm, "constraints"):
        return from_integers(dqm)
    if not all(hasattr(dqm, attribute) for attribute in PARTS):
        raise ProblemError(f"expected a dimod.DiscreteQuadraticModel; got {shortened(dqm)}")
    names = list(dqm.variables)
    sizes = [int(dqm.num_cases(name)) for name in names]
    offset = np.asarray(dqm.offset, np.float64)
    return from_factors(
        sizes, _factors(dqm, names), sense="minimise", constant=float(offset), names=names
    )


def _factors(dqm: Any, names: list[Any]) -> Iterator[Factor]:
    place = {name: i for i, name in enumerate(names)}
    for name in names:
        yield (place[name],), np.asarray(dqm.get_linear(name), np.float64)
        for other in dqm.adj[name]:
            if place[name] < place[other]:
                table = dqm.get_quadratic(name, other, array=True)
                yield (place[name], place[other]), np.asarray(table, np.float64)
