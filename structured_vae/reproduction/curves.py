"""Test loss by epoch and by hours of training, a line a cell."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate
from typing import Final

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
    """The first seed of each cell; dashed where the number is no bound."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw(left, records, lambda record: [row["epoch"] for row in record.epochs])
    _draw(right, records, _hours)
    left.set_xlabel("epoch")
    right.set_xlabel("hours")
    left.set_ylabel("test loss (nats)")
    lowest = min(min(_losses(record)[0]) for cells in records.values() for record in cells)
    left.set_ylim(lowest - 2, lowest + SPAN)
    figure.legend(*right.get_legend_handles_labels(), loc="outside right center", fontsize=7)
    figure.suptitle(experiment.title)
    return figure


def _draw(axes: Axes, records: Records, place: Callable[[Record], list[float]]) -> None:
    for number, (name, cells) in enumerate(records.items()):
        losses, valid = _losses(cells[0])
        style, note = ("-", "") if valid else ("--", " (no bound)")
        axes.plot(place(cells[0]), losses, style, color=f"C{number % 10}", linewidth=1, label=name + note)


def _losses(record: Record) -> tuple[list[float], bool]:
    """The tighter number of each epoch, and whether it is a bound."""
    perturbed = record.config["estimator"] != "score_function"
    loose = record.config["encoder"] in ("supermodular", "general") and perturbed
    if loose and record.config["model"] == "discrete":
        return [row[SURROGATE] for row in record.epochs], False
    return [row[BOUND] for row in record.epochs], True


def _hours(record: Record) -> list[float]:
    return [seconds / 3600 for seconds in accumulate(row["seconds"] for row in record.epochs)]
