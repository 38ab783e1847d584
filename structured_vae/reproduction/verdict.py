"""Summarise the records of an experiment in tables: against the paper, in order, or the best."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Final

from ..evaluation.gradients import GradientReport
from ..runs.gradients import family_of
from .attributes import APPEARS, names_of
from .comparison import tables_beside_the_paper
from .experiments import Experiment
from .orders import order_table, standing
from .quantities import Records, mean_and_deviation, unit, values_of
from .records import Record
from .verdict_table import VerdictTable

BEST: Final = {"accuracy": True, "bound": False}
"""The quantities that rank cells without paper numbers, and whether higher is better."""

HEADER: Final = ("cell", "ours, mean ± sd", "seeds", "verdict")


def verdict(
    experiment: Experiment, records: Records, references: Records | None = None
) -> list[VerdictTable]:
    """Return the first tables of a page.

    They compare cells with the paper's numbers, if it has any. Otherwise they compare the best
    cells with the references.
    """
    tables = tables_beside_the_paper(experiment, records)
    order = order_table(experiment, records)
    if order is not None:
        tables.append(order)
    return tables or _best(records, references or {})


def attributes_verdict(records: Records) -> list[VerdictTable]:
    """Return the best accuracy beside that of the majority, and what decoded faces show."""
    majority = [value for runs in records.values() for value in values_of(runs, "majority")]
    of_majority = []
    if majority:
        of_majority = [["majority", f"{mean(majority):.2f}", "", "reference"]]
    tables = _best(records, {}, of_majority)
    shares = {cell: _appearing(runs) for cell, runs in records.items()}
    rows = [[cell, f"{mean(values):.1f}"] for cell, values in shares.items() if values]
    if rows:
        title = "Decoded faces in which another network finds the attribute that was decoded"
        tables.append(VerdictTable(title, ("cell", "share, %"), [*rows, ["chance", "50.0"]]))
    return tables


def _appearing(records: Sequence[Record]) -> list[float]:
    """Return the share of each attribute that was switched, for each seed."""
    return [
        value for name in names_of(records, APPEARS) for value in values_of(records, APPEARS + name)
    ]


def gradients_verdict(reports: Mapping[str, GradientReport]) -> list[VerdictTable]:
    """Return each estimator's error at its best epsilon or temperature, the least first."""
    errors = {name: math.sqrt(report.bias**2 + report.variance) for name, report in reports.items()}
    best: dict[str, str] = {}
    for name in sorted(errors, key=lambda name: errors[name]):
        best.setdefault(family_of(name), name)
    rows = [
        [family, name.removeprefix(family).strip(), f"{errors[name]:.2g}"]
        for family, name in best.items()
    ]
    norm = next(iter(reports.values())).norm
    header = ("estimator", "best epsilon or temperature", "root mean square error")
    return [
        VerdictTable(
            "Error of one estimate", header, [*rows, ["norm of the gradient", "", f"{norm:.2g}"]]
        )
    ]


def _best(
    records: Records, references: Records, more: Sequence[list[str]] = ()
) -> list[VerdictTable]:
    """Return a table of the best cell and the second, by the first quantity that cells have.

    References and the rows of `more` follow.
    """
    for quantity, is_higher_better in BEST.items():
        values = _of_cells(records, quantity)
        if not values:
            continue
        sign = 1
        if is_higher_better:
            sign = -1
        first, *others = sorted(values, key=lambda cell: sign * mean(values[cell]))
        rows = [_row(first, values[first], "best")]
        for second in others[:1]:
            signed = [[sign * value for value in values[cell]] for cell in (second, first)]
            rows.append(_row(second, values[second], standing(*signed)))
        rows += [
            _row(cell, numbers, "reference")
            for cell, numbers in _of_cells(references, quantity).items()
        ]
        return [VerdictTable(f"Best {quantity}, {unit(quantity)}", HEADER, [*rows, *more])]
    return []


def _row(cell: str, values: Sequence[float], verdict: str) -> list[str]:
    return [cell, mean_and_deviation(values), str(len(values)), verdict]


def _of_cells(records: Records, quantity: str) -> dict[str, list[float]]:
    """Return the values by seed of the cells that have the quantity."""
    values = {cell: values_of(runs, quantity) for cell, runs in records.items()}
    return {cell: numbers for cell, numbers in values.items() if numbers}
