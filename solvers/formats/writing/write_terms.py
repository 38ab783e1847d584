"""Write quadratic problems over bits as text, with one function for each format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...constraints import Constraint
from ...errors import ProblemError
from ..quadratic.csv import is_read_back
from .written import Terms, number

LEAST = 1e-12
"""Magnitude up to which HiGHS and others read coefficients of products and rows as zero."""

BREAK = 8
"""Number of terms in a line of an LP file."""

SENSES = {1: "maximize", -1: "minimize"}
"""The words of files for senses."""


def biq_mac_text(terms: Terms) -> Iterator[str]:
    """Write one triangle of Q for x'Qx: half of the weight of a pair."""
    diagonal = np.flatnonzero(terms.linear)
    yield f"{terms.n} {len(diagonal) + len(terms.pairs)}"
    for i in diagonal.tolist():
        yield f"{i + 1} {i + 1} {number(terms.linear[i])}"
    yield from _entries(terms, terms.weights / 2, 1)


def qbsolv_text(terms: Terms) -> Iterator[str]:
    """Write linear terms and couplers, numbered from 0."""
    diagonal = np.flatnonzero(terms.linear)
    yield f"p qubo 0 {terms.n} {len(diagonal)} {len(terms.pairs)}"
    for i in diagonal.tolist():
        yield f"{i} {i} {number(terms.linear[i])}"
    yield from _entries(terms, terms.weights, 0)


def max_cut_text(terms: Terms) -> Iterator[str]:
    """Write a graph; linear terms become edges to one more vertex, on the side of the zeros.

    z_i z_j = (z_i + z_j - [z_i differs from z_j]) / 2.
    """
    half = terms.weights / 2
    linear = terms.linear.copy()
    np.add.at(linear, terms.pairs.ravel(), np.repeat(half, 2))
    joined = np.flatnonzero(linear)
    yield f"{terms.n + bool(len(joined))} {len(terms.pairs) + len(joined)}"
    yield from _entries(terms, 0.0 - half, 1)
    for i in joined.tolist():
        yield f"{i + 1} {terms.n + 1} {number(linear[i])}"


def qplib_text(terms: Terms) -> Iterator[str]:
    """Write a problem of the type QBN; the objective counts half of the quadratic terms."""
    yield "problem"
    yield "QBN"
    yield SENSES[terms.sense]
    yield f"{terms.n} # number of variables"
    yield f"{len(terms.pairs)} # number of quadratic terms in objective"
    yield from _entries(terms, terms.weights * 2, 1, lower=True)
    yield "0 # default value for linear coefficients in objective"
    used = np.flatnonzero(terms.linear)
    yield f"{len(used)} # number of non-default linear coefficients in objective"
    for i in used.tolist():
        yield f"{i + 1} {number(terms.linear[i])}"
    yield f"{number(terms.constant)} # objective constant"
    yield "1.79769313486232E+308 # value for infinity"
    yield "0 # default variable primal value in starting point"
    yield "0 # number of non-default variable primal values in starting point"
    yield "0 # default variable bound dual value in starting point"
    yield "0 # number of non-default variable bound dual values in starting point"
    yield "0 # number of non-default variable names"
    yield "0 # number of non-default constraint names"


def coo_text(terms: Terms) -> Iterator[str]:
    """Write the biases of bits; every variable has a line."""
    yield "# vartype=BINARY"
    for i, bias in enumerate(terms.linear.tolist()):
        yield f"{i} {i} {number(bias)}"
    yield from _entries(terms, terms.weights, 0)


def bqpjson_text(terms: Terms) -> Iterator[str]:
    """Write booleans, numbered from 0."""
    couplings = zip(terms.pairs.tolist(), terms.weights.tolist(), strict=True)
    content = {
        "version": "1.0.0",
        "id": 0,
        "metadata": {},
        "variable_ids": list(range(terms.n)),
        "variable_domain": "boolean",
        "scale": 1.0,
        "offset": terms.constant,
        "linear_terms": [
            {"id": i, "coeff": bias} for i, bias in enumerate(terms.linear.tolist()) if bias
        ],
        "quadratic_terms": [
            {"id_tail": i, "id_head": j, "coeff": weight} for (i, j), weight in couplings
        ],
    }
    yield json.dumps(content)


def matrix_market_text(terms: Terms) -> Iterator[str]:
    """Write the upper triangle of Q for x'Qx as a general matrix."""
    used = np.flatnonzero(terms.linear)
    yield "%%MatrixMarket matrix coordinate real general"
    yield f"{terms.n} {terms.n} {len(used) + len(terms.pairs)}"
    for i in used.tolist():
        yield f"{i + 1} {i + 1} {number(terms.linear[i])}"
    yield from _entries(terms, terms.weights, 1)


def csv_text(terms: Terms) -> Iterator[str]:
    """Write a row for each score, under the names of the variables.

    Raises:
        ProblemError: two names would be read as one variable, or a name as none.
    """
    names = [str(name) for name in terms.names]
    if not is_read_back(names):
        raise ProblemError(
            "the names of the variables are not distinct texts in one line; rename them, or write "
            "the problem in a format without names, such as 'npz'"
        )
    return _csv_lines(terms, names)


def _csv_lines(terms: Terms, names: list[str]) -> Iterator[str]:
    yield "i,j,score"
    for name, score in zip(names, terms.linear.tolist(), strict=True):
        yield _row(name, "", number(score))
    for (i, j), weight in zip(terms.pairs.tolist(), terms.weights.tolist(), strict=True):
        yield _row(names[i], names[j], number(weight))


def lp_text(terms: Terms) -> Iterator[str]:
    """Write a program over x1 to xn, with its constraints.

    Raises:
        ProblemError: a product or a coefficient of a constraint is so small that it would be read
            as zero.
    """
    rows = [_coefficients(constraint, terms.n) for constraint in terms.constraints]
    numbers = [*terms.weights.tolist(), *(value for row in rows for value in row.values())]
    if tiny := [value for value in numbers if 0.0 < abs(value) <= LEAST]:
        raise ProblemError(
            f"programs that read LP files take the coefficient {tiny[0]:g} for 0; scale the "
            "objective or the constraint, or write the problem as 'npz'"
        )
    return _lp_lines(terms, rows)


def _lp_lines(terms: Terms, rows: list[dict[int, float]]) -> Iterator[str]:
    yield SENSES[terms.sense].capitalize()
    yield " obj:"
    yield from _lines(_linear(dict(enumerate(terms.linear.tolist()))))
    if len(terms.pairs):
        yield " + ["
        ends = zip(terms.pairs.tolist(), terms.weights.tolist(), strict=True)
        yield from _lines(f"{_signed(2 * weight)} x{i + 1} * x{j + 1}" for (i, j), weight in ends)
        yield " ] / 2"
    yield f" {_signed(terms.constant)}"
    yield "Subject To"
    for place, (constraint, row) in enumerate(zip(terms.constraints, rows, strict=True), 1):
        yield f" c{place}:"
        yield from _lines(_linear(row))
        comparison = "="
        if constraint.comparison != "==":
            comparison = constraint.comparison
        yield f" {comparison} {number(float(constraint.right))}"
    yield "Binary"
    yield from _lines(f"x{i + 1}" for i in range(terms.n))
    yield "End"


def _coefficients(constraint: Constraint, n: int) -> dict[int, float]:
    """Return the coefficients of a constraint by places.

    Raises:
        OptionError: a list of coefficients has another length than n.
    """
    constraint.check_length(n)
    if constraint.coefficients is None:
        return dict.fromkeys(range(n), 1.0)
    placed: dict[Any, float] = dict(constraint.coefficients)
    return {int(place): float(value) for place, value in placed.items()}


def _linear(coefficients: dict[int, float]) -> Iterator[str]:
    return (f"{_signed(value)} x{place + 1}" for place, value in coefficients.items())


def _signed(value: float) -> str:
    if value < 0:
        return f"- {number(-value)}"
    return f"+ {number(value)}"


def _lines(words: Iterator[str]) -> Iterator[str]:
    """Yield lines of several words."""
    line: list[str] = []
    for word in words:
        line.append(word)
        if len(line) == BREAK:
            yield "  " + " ".join(line)
            line = []
    if line:
        yield "  " + " ".join(line)


def _row(*cells: str) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="").writerow(cells)
    return stream.getvalue()


def _entries(terms: Terms, weights: np.ndarray, first: int, lower: bool = False) -> Iterator[str]:
    """Yield a line "i j weight" for each pair."""
    for (i, j), weight in zip(terms.pairs.tolist(), weights.tolist(), strict=True):
        small = i + first
        large = j + first
        if lower:
            ends = f"{large} {small}"
        else:
            ends = f"{small} {large}"
        yield f"{ends} {number(weight)}"
