"""Convert polynomials of bits to tables over the variables of their largest terms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...conversions.polynomials.polynomial import MOST_OF_A_TABLE, largest_scopes, objective_of
from ...conversions.polynomials.polynomial_terms import Monomials, Read, Scope
from ...conversions.sense import Sense
from ...errors import ProblemError
from .conversion import LabelConversion
from .factors import from_factors


def in_tables(polynomial: Read, monomials: Monomials, sign: int) -> LabelConversion:
    """Return the conversion of a polynomial whose higher terms are tables.

    Args:
        polynomial: the polynomial as the caller wrote it.
        monomials: its terms over bits.
        sign: 1 if it is maximised, -1 if it is minimised.

    Raises:
        ProblemError: a term has too many variables for a table.
    """
    high = monomials.high
    for scope in high:
        if len(scope) > MOST_OF_A_TABLE:
            raise ProblemError(
                f"a term has {len(scope)} variables, and a table may have at most "
                f"{MOST_OF_A_TABLE}; pass reduction='cliques'"
            )
    tables = {scope: np.zeros((2,) * len(scope)) for scope in largest_scopes(high)}
    for scope, number in high.items():
        # Each term is added to a single table that has all of its variables.
        home = next(one for one in tables if set(scope) <= set(one))
        tables[home][_ones(scope, home)] += number
    for scope, number in monomials.low.items():
        table = tables.setdefault(scope, np.zeros((2,) * len(scope)))
        table[_ones(scope, scope)] += number
    sense: Sense = "minimise"
    if sign == 1:
        sense = "maximise"
    conversion = from_factors(
        [2] * len(polynomial.labels),
        list(tables.items()),
        sense=sense,
        constant=monomials.constant,
        names=polynomial.labels,
        values=[polynomial.values] * len(polynomial.labels),
    )
    entries = [table.ravel() for table in tables.values()]
    contributions = np.concatenate([*entries, np.array(list(monomials.terms.values()))])
    original = objective_of(polynomial, contributions, 4 * len(tables) + len(high), True)
    return replace(conversion, original=original)


def _ones(scope: Scope, table: Scope) -> tuple[int | slice, ...]:
    """Return the entries of a table at which all variables of a scope are 1."""
    return tuple(1 if place in scope else slice(None) for place in table)
