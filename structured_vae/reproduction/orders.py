"""Check the paper's order of encoders: each pair of neighbours, by three numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import mean
from typing import Final

from .comparison import of_the_papers_kind
from .experiments import Experiment
from .quantities import Records, differ, mean_and_deviation, values_of
from .records import Record
from .verdict_table import VerdictTable

NUMBERS: Final = {"": "paper's number", "bound": "valid bound", "minus_log_p": "-log p(x)"}
"""The quantities by which encoders are ordered, the paper's kind first."""

HEADER: Final = (
    "training",
    "number",
    "first in the paper",
    "second in the paper",
    "first, mean ± sd",
    "second, mean ± sd",
    "first is",
    "all in order from epoch",
)


def order_table(experiment: Experiment, records: Records) -> VerdictTable | None:
    """Return a row for each pair of neighbours and number; None if every order lacks a cell."""
    rows = []
    for training, cells in experiment.orders.items():
        for quantity, number in NUMBERS.items():
            values = {cell: _values(records, cell, quantity) for cell in cells}
            if all(values.values()):
                if quantity:
                    since = ""
                else:
                    since = _since([records[cell] for cell in cells])
                rows += [[training, number, *pair, since] for pair in _pairs(values)]
    if rows:
        return VerdictTable("The paper's order of encoders", HEADER, rows)
    return None


def _values(records: Records, cell: str, quantity: str) -> list[float]:
    if not quantity:
        return of_the_papers_kind(records, cell, "bound")
    return values_of(records.get(cell, ()), quantity)


def _pairs(values: Mapping[str, Sequence[float]]) -> list[list[str]]:
    return [
        [
            first,
            second,
            mean_and_deviation(values[first]),
            mean_and_deviation(values[second]),
            standing(values[first], values[second]),
        ]
        for first, second in pairwise(values)
    ]


def standing(first: Sequence[float], second: Sequence[float]) -> str:
    """Compare the first values with the second, where lower is better.

    Returns:
        `ahead` or `behind` if Welch's t-test finds a difference (p < 0.05), `level` if it finds
        none, and `untested` if either has only one seed.
    """
    if min(len(first), len(second)) == 1:
        return "untested"
    if not differ(first, second):
        return "level"
    if mean(first) < mean(second):
        return "ahead"
    return "behind"


def _since(cells: Sequence[Sequence[Record]]) -> str:
    """Return the epoch from which the means over seeds keep this order; empty if none."""
    curves = [_curve(records) for records in cells]
    if len({len(curve) for curve in curves}) != 1:
        return ""
    epochs = [int(row["epoch"]) for row in cells[0][0].epochs]
    ordered = [
        all(better < worse for better, worse in pairwise(row)) for row in zip(*curves, strict=True)
    ]
    if len(ordered) < 2 or not ordered[-1]:
        return ""
    first = max((place + 1 for place, holds in enumerate(ordered) if not holds), default=0)
    return str(epochs[first])


def _curve(records: Sequence[Record]) -> list[float]:
    """Return the mean over seeds of the paper's kind of number in each epoch that all have."""
    rows = zip(*(record.epochs for record in records), strict=False)
    return [mean(_papers_kind(row) for row in of_seeds) for of_seeds in rows]


def _papers_kind(row: Mapping[str, float]) -> float:
    if "test/bound_surrogate" in row:
        return row["test/bound_surrogate"]
    return row["test/bound"]
