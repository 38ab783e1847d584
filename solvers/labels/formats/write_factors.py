"""Write sums of factors as text, with one function for each format."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from ...conversions import Conversion
from ...errors import ProblemError
from ...formats.writing.written import Relation, number, terms_of
from ..conversions import Factor, LabelConversion

MOST_COST = 2**62
"""Largest sum of the costs of a wcsp file."""

MARGIN = 2.0**-30
"""Distance of a bound from the sums below it, as a share of the bound."""

LEAST_EXPONENT = math.log(sys.float_info.min)
"""Least exponent whose exponential has all digits of float64."""

MOST_DIGITS = 300
"""Largest number of decimal places of a bound."""


@dataclass(frozen=True, eq=False)
class Factors:
    """Objective constant + sum of factors.

    Attributes:
        names: `[n]`, the names of the variables.
        values: `[n]`, the names of the values of each variable.
        sense: 1 if it is maximised, -1 if it is minimised.
        constant: a number that is added to the factors.
        factors: scopes and tables; an infinite entry forbids a tuple.
    """

    names: Sequence[Hashable]
    values: Sequence[Sequence[Hashable]]
    sense: int
    constant: float
    factors: Sequence[Factor]

    @property
    def sizes(self) -> list[int]:
        """The number of values of each variable."""
        return [len(values) for values in self.values]

    def with_sense(self, sense: int) -> Factors:
        """Return the factors of the objective, or of its negative, with this sense."""
        if sense == self.sense:
            return self
        factors = [(scope, 0.0 - table) for scope, table in self.factors]
        return replace(self, sense=sense, constant=0.0 - self.constant, factors=factors)


def factors_of(conversion: LabelConversion) -> Factors:
    """Return the objective of a conversion of labels in its own sense.

    Raises:
        ProblemError: it is not a sum of tables, or has constraints.
    """
    original = conversion.original
    factors = getattr(original, "factors", None)
    if original is None or factors is None or conversion.constraints:
        raise ProblemError("only sums of factors without constraints can be written")
    constant = float(getattr(original, "constant", 0.0))
    values = [conversion.values_of(place) for place in range(len(conversion.names))]
    return Factors(conversion.names, values, conversion.sign, constant, factors)


def factors_of_bits(conversion: Conversion) -> Factors:
    """Return the objective of a conversion of bits in its own sense.

    Raises:
        ProblemError: `terms_of` raises, or the conversion has constraints.
    """
    terms = terms_of(conversion)
    if terms.constraints:
        raise ProblemError(
            f"the problem has {len(terms.constraints)} constraints, which a file of this format "
            "cannot have; write it as 'lp'"
        )
    unary = [((i,), np.array([0.0, score])) for i, score in enumerate(terms.linear.tolist())]
    pairs = zip(terms.pairs.tolist(), terms.weights.tolist(), strict=True)
    couplings = [((i, j), np.array([[0.0, 0.0], [0.0, weight]])) for (i, j), weight in pairs]
    values = [conversion.values] * terms.n
    return Factors(terms.names, values, terms.sense, terms.constant, [*unary, *couplings])


def uai_text(factors: Factors) -> tuple[Iterator[str], Relation]:
    """Write exponentials of the factors, each divided by its largest entry.

    Raises:
        ProblemError: an exponential is so small that float64 makes it 0, which forbids a tuple.
    """
    scores = factors.with_sense(1)
    shifts = [_extreme(table, np.max) for _, table in scores.factors]
    least = [_extreme(table, np.min) for _, table in scores.factors]
    widest = max((high - low for high, low in zip(shifts, least, strict=True)), default=0.0)
    if widest > -LEAST_EXPONENT:
        raise ProblemError(
            f"a uai file has exponentials, and two entries of a factor differ by {widest:g}: the "
            f"exponential of more than {-LEAST_EXPONENT:.0f} is out of range; write the problem as "
            "'cfn'"
        )
    constant = factors.sense * (scores.constant + math.fsum(shifts))
    return _uai_lines(scores, shifts), Relation(factors.sense, constant)


def _uai_lines(scores: Factors, shifts: list[float]) -> Iterator[str]:
    yield "MARKOV"
    yield str(len(scores.names))
    yield " ".join(map(str, scores.sizes))
    yield str(len(scores.factors))
    for scope, _ in scores.factors:
        yield " ".join(map(str, (len(scope), *scope)))
    for (_, table), shift in zip(scores.factors, shifts, strict=True):
        yield str(np.size(table))
        yield " ".join(repr(math.exp(entry - shift)) for entry in np.ravel(table).tolist())


def wcsp_text(factors: Factors) -> tuple[Iterator[str], Relation]:
    """Write whole costs, with the least cost of each table subtracted.

    Raises:
        ProblemError: a cost is not whole, or the costs are too large.
    """
    costs = factors.with_sense(-1)
    shifts = [_extreme(table, np.min) for _, table in costs.factors]
    tables = [table - shift for (_, table), shift in zip(costs.factors, shifts, strict=True)]
    finite = [table[np.isfinite(table)] for table in tables]
    if any((entries != np.floor(entries)).any() for entries in finite):
        raise ProblemError("a wcsp file has whole costs alone; write the problem as 'cfn'")
    top = 1 + sum(int(entries.max(initial=0)) for entries in finite)
    if top > MOST_COST:
        raise ProblemError(f"the costs of a wcsp file may add up to {MOST_COST}; these do to {top}")
    constant = -factors.sense * (costs.constant + math.fsum(shifts))
    return _wcsp_lines(costs, tables, top), Relation(-factors.sense, constant)


def _wcsp_lines(costs: Factors, tables: list[np.ndarray], top: int) -> Iterator[str]:
    sizes = costs.sizes
    yield f"problem {len(sizes)} {max(sizes)} {len(tables)} {top}"
    yield " ".join(map(str, sizes))
    for (scope, _), table in zip(costs.factors, tables, strict=True):
        places = np.argwhere(table != 0)
        yield " ".join(map(str, (len(scope), *scope, 0, len(places))))
        for place in places.tolist():
            cost = table[tuple(place)]
            whole = top
            if math.isfinite(cost):
                whole = int(cost)
            yield " ".join(map(str, (*place, whole)))


def cfn_text(factors: Factors) -> tuple[Iterator[str], Relation]:
    """Write all costs and the names, with a bound beyond every sum.

    Raises:
        ProblemError: two variables or two values have the same name as a text.
    """
    tables = [np.ravel(table) for _, table in factors.factors]
    extremes = [np.abs(table[np.isfinite(table)]).max(initial=0.0) for table in tables]
    # The relative margin exceeds the rounding of sums; 1 alone vanishes beside large numbers.
    most = math.fsum((abs(factors.constant), *extremes)) * (1 + MARGIN) + 1
    entries = (entry for table in tables for entry in (*table.tolist(), factors.constant))
    bound = f"{math.ceil(most)}.{'0' * max(1, max(map(_decimals, entries), default=0))}"
    worst = bound
    if factors.sense != -1:
        worst = f"-{bound}"
    return iter((json.dumps(_cfn(factors, worst)),)), Relation(1, 0.0)


def _cfn(factors: Factors, worst: str) -> dict[str, object]:
    names = _texts("variables", factors.names)
    variables = {
        name: _texts(f"values of {name}", values)
        for name, values in zip(names, factors.values, strict=True)
    }
    functions: dict[str, object] = {}
    if factors.constant:
        functions["constant"] = {"scope": [], "costs": [factors.constant]}
    for place, (scope, table) in enumerate(factors.factors):
        entries = np.ravel(table)
        costs = np.where(np.isfinite(entries), entries, float(worst)).tolist()
        functions[f"f{place}"] = {"scope": [names[v] for v in scope], "costs": costs}
    comparison = ">"
    if factors.sense == -1:
        comparison = "<"
    problem = {"name": "problem", "mustbe": f"{comparison}{worst}"}
    return {"problem": problem, "variables": variables, "functions": functions}


def _texts(what: str, names: Sequence[Hashable]) -> list[str]:
    texts = [str(name) for name in names]
    if len(set(texts)) < len(texts):
        raise ProblemError(f"two {what} have the same name as a text; rename one of them")
    return texts


def _decimals(value: float) -> int:
    """Return how many decimal places a number has."""
    if not math.isfinite(value):
        return 0
    exponent = Decimal(number(value)).as_tuple().exponent
    return min(MOST_DIGITS, max(0, -int(exponent)))


def _extreme(table: np.ndarray, extreme: Callable[[np.ndarray], float]) -> float:
    """Return the extreme of the finite entries; 0 without finite entries."""
    finite = np.ravel(table)[np.isfinite(np.ravel(table))]
    if not finite.size:
        return 0.0
    return float(extreme(finite))
