"""Convert models of pgmpy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from ...errors import ProblemError, shortened
from .conversion import LabelConversion
from .factors import Factor, from_factors


def from_pgmpy(model: Any, evidence: Mapping[Hashable, Hashable] | None = None) -> LabelConversion:
    """Convert a pgmpy model: the sum of the logarithms of its factors or tables, maximised.

    Its argmax is the most probable explanation, and `gibbs` of its problem is the exact posterior.

    Args:
        model: a `DiscreteMarkovNetwork`, `FactorGraph`, `JunctionTree` or
            `DiscreteBayesianNetwork`.
        evidence: the observed values, by the model's names.

    Raises:
        ProblemError: `model` is not such a model, or has a factor that is not a table.
    """
    factors = _tables_of(model)
    names: dict[Hashable, list[Hashable]] = {}
    for factor in factors:
        for name in factor.variables:
            names.setdefault(name, list(factor.state_names[name]))
    place = {name: i for i, name in enumerate(names)}
    sizes = [len(values) for values in names.values()]
    tables = [_reordered(factor, place, names) for factor in factors]
    conversion = from_factors(sizes, tables, names=list(names), values=list(names.values()))
    if not evidence:
        return conversion
    kept = ((i, np.arange(sizes[i]) == value) for i, value in conversion.states(evidence).items())
    observed = [((i,), np.where(keep, 0.0, -np.inf)) for i, keep in kept]
    return from_factors(sizes, [*tables, *observed], names=list(names), values=list(names.values()))


def _tables_of(model: Any) -> list[Any]:
    """Return the factors of a pgmpy model, which are tables."""
    if hasattr(model, "get_cpds"):
        return [cpd.to_factor() for cpd in model.get_cpds()]
    if hasattr(model, "get_factors"):
        return list(model.get_factors())
    raise ProblemError(
        f"expected a pgmpy model with factors or conditional probabilities; got {shortened(model)}"
    )


def _reordered(
    factor: Any, place: Mapping[Hashable, int], names: Mapping[Hashable, list[Hashable]]
) -> Factor:
    """Return places and logarithms of a factor's table, with values in the order of `names`."""
    table = np.asarray(factor.values, np.float64)
    for axis, name in enumerate(factor.variables):
        states = list(factor.state_names[name])
        if set(states) != set(names[name]) or len(states) != len(names[name]):
            raise ProblemError(
                f"the factors name the values of {shortened(name)} differently: "
                f"{shortened(states)} and {shortened(names[name])}"
            )
        table = np.take(table, [states.index(value) for value in names[name]], axis=axis)
    with np.errstate(divide="ignore"):
        return [place[name] for name in factor.variables], np.log(table)
