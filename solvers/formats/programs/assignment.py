"""Build quadratic assignment problems: bits with constraints on rows and on columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from ...constraints import Constraint, one_of
from ...conversions.conversion import Conversion, converted
from ...conversions.terms import Linear, Pairs, Weights
from ..parsing.text import TextFile

PAIR_BYTES = 96
"""Bytes that a pair takes while a problem is built."""


def assignments(
    rows: Sequence[Hashable],
    columns: Sequence[Hashable],
    linear: Linear,
    pairs: Pairs,
    weights: Weights,
) -> Conversion:
    """Return the problem of the cheapest assignment of each row to one column.

    Its variables are named (row, column), row by row.

    Args:
        rows: `[m]` names.
        columns: `[m]` names.
        linear: `[m * m]`, the cost of each variable.
        pairs: `[e, 2]` variables.
        weights: `[e]`, the cost of each pair.
    """
    size = len(rows)
    names = [(row, column) for row in rows for column in columns]
    conversion = converted("minimise", names, linear, pairs, weights, 0.0)
    places = np.arange(size * size).reshape(size, size)
    constraints = [
        *(_exactly_one(f"row {name}", group) for name, group in zip(rows, places, strict=True)),
        *(_exactly_one(f"column {n}", group) for n, group in zip(columns, places.T, strict=True)),
    ]
    return replace(conversion, constraints=tuple(constraints))


def _exactly_one(name: str, group: np.ndarray) -> Constraint:
    return replace(one_of(group.tolist()), name=name)


def check_pairs(text: TextFile, count: int) -> None:
    """Raise if the pairs of a problem take more than `max_bytes`.

    Raises:
        ProblemFileError: they take more.
    """
    text.check_bytes(PAIR_BYTES * count, f"a problem of {count} pairs of bits")
