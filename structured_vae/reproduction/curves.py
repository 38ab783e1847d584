"""Test loss by epoch and by hours of training, a line a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .experiments import Experiment
from .quantities import Records
from .records import Record

BOUND: Final = "test/bound"
SURROGATE: Final = "test/bound_surrogate"
SPAN: Final = 45
"""Nats above the lowest loss that are shown: the first epochs are off the scale."""


def curves(experiment: Experiment, records: Records) -> Figure:
    """The first seed of each cell, a row for each dataset and size of the code; dashed where the number is no bound."""
    rows: dict[str, dict[str, Record]] = {}
    for name, cells in records.items():
        rows.setdefault(_row(cells[0].config), {})[name] = cells[0]
    figure = Figure(figsize=(11, 1 + 3 * len(rows)), layout="constrained")
    axes_of = figure.subplots(len(rows), 2, sharey="row", squeeze=False)
    for (left, right), (title, cells_of_row) in zip(axes_of, rows.items(), strict=True):
        _draw(left, cells_of_row, lambda record: [row["epoch"] for row in record.epochs])
        _draw(right, cells_of_row, _hours)
        lowest = min(min(_losses(record)[0]) for record in cells_of_row.values())
        left.set(xlabel="epoch", ylabel="test loss (nats)", ylim=(lowest - 2, lowest + SPAN))
        left.set_title(title, loc="left", fontsize=9)
        right.set_xlabel("hours")
        right.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7, frameon=False)
    figure.suptitle(experiment.title)
    return figure


def _row(config: dict[str, Any]) -> str:
    """What the cells of a row share."""
    size = "k" if config["encoder"] == "categorical" else "n"
    return f"{config['data']['name']}, {size} = {config[size]}"


def _draw(axes: Axes, records: Mapping[str, Record], place: Callable[[Record], list[float]]) -> None:
    for number, (name, record) in enumerate(records.items()):
        losses, valid = _losses(record)
        style, note = ("-", "") if valid else ("--", " (no bound)")
        axes.plot(place(record), losses, style, color=f"C{number % 10}", linewidth=1, label=name + note)


def _losses(record: Record) -> tuple[list[float], bool]:
    """The tighter number of each epoch, and whether it is a bound."""
    perturbed = record.config["estimator"] != "score_function"
    loose = record.config["encoder"] in ("supermodular", "general") and perturbed
    if loose and record.config["model"] == "discrete":
        return [row[SURROGATE] for row in record.epochs], False
    return [row[BOUND] for row in record.epochs], True


def _hours(record: Record) -> list[float]:
    return [seconds / 3600 for seconds in accumulate(row["seconds"] for row in record.epochs)]
