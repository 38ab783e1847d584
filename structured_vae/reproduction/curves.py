"""Plot the test loss by epoch and by hours of training, one line per cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from statistics import mean, median
from typing import Any, Final

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from models.networks.encoders.registry import ENCODERS

from ..distributions import PerturbAndMAP
from ..estimators.registry import ESTIMATORS
from ..runs.folder.curves import PAGE_WIDTH
from .experiments import Experiment
from .quantities import Records
from .records import Record

BOUND: Final = "test/bound"
SURROGATE: Final = "test/bound_surrogate"
COLORS: Final = colormaps["tab10"]
MOST_LINES: Final = 10
"""Most lines of a plot that can be distinguished in its legend."""

LEGEND_COLUMNS: Final = 3

CHARACTER: Final = 0.065
"""The average width in inches of a character in a legend, at most."""

EARLY: Final = 0.1
"""The largest share of epochs whose losses may be off the scale."""


def curves(experiment: Experiment, records: Records) -> Figure:
    """Plot the mean over the seeds of each cell, with their range as a band.

    Lines are dashed where the number is not a bound.

    Hours are the median over the seeds, since a seed that shared its machine is slower. Each order
    of cells that the experiment requests has a row. The remaining cells have a row for each dataset
    and code size, and for each encoder if there are many cells. The paper's numbers are dotted, in
    the colours of the cells.
    """
    rows = _panels(experiment, records)
    figure = Figure(figsize=(PAGE_WIDTH, 0.5 + 3.2 * len(rows)), layout="constrained")
    parts = figure.subfigures(len(rows), squeeze=False)[:, 0]
    for panel, (title, cells) in zip(parts, rows.items(), strict=True):
        left, right = panel.subplots(1, 2, sharey=True)
        paper = {
            name: number["bound"]
            for name, runs in cells.items()
            if "bound" in (number := experiment.paper_of(name, runs[0].trained))
        }
        _draw(left, cells, paper, lambda record: [row["epoch"] for row in record.epochs])
        _draw(right, cells, paper, lambda record: record.hours)
        late = [loss for runs in cells.values() for run in runs for loss in _late(run)] + list(
            paper.values()
        )
        left.set(xlabel="epoch", ylabel="test loss (nats)", ylim=_limits(late))
        left.set_title(title, loc="left", fontsize=9)
        right.set_xlabel("hours")
        handles, labels = left.get_legend_handles_labels()
        panel.legend(handles, labels, loc="outside lower left", ncols=_columns(labels), fontsize=8)
    figure.suptitle(experiment.title)
    return figure


def _panels(experiment: Experiment, records: Records) -> dict[str, Records]:
    """Return the cells of each row by its title."""
    by_encoder = len(records) > MOST_LINES
    rows: dict[str, Records] = {}
    ordered: set[str] = set()
    for how, names in experiment.orders.items():
        if by_encoder and all(name in records for name in names):
            rows[f"encoders beside each other, {how}"] = {name: records[name] for name in names}
            ordered.update(names)
    others: dict[tuple[str, str, int, str], dict[str, Sequence[Record]]] = {}
    for name, cells in records.items():
        if name not in ordered:
            others.setdefault(_row(cells[0].config, by_encoder), {})[name] = cells
    for (data, axis, size, encoder), cells_of_row in sorted(others.items()):
        rows[f"{data}, {axis} = {size}{encoder}"] = cells_of_row
    return rows


def _row(config: dict[str, Any], by_encoder: bool) -> tuple[str, str, int, str]:
    """Return what the cells of a row share: dataset, k or n, its value, and perhaps encoder."""
    named = config.get("encoder", config["model"])
    axis = "n"
    if named == "categorical":
        axis = "k"
    if (variables := config.get("variables", 1)) > 1:
        return config["data"]["name"], f"{variables} variables of k", config[axis], ""
    encoder = ""
    if by_encoder and axis == "n":
        encoder = f", {named}"
    return config["data"]["name"], axis, config[axis], encoder


def _draw(
    axes: Axes, cells: Records, paper: Mapping[str, float], place: Callable[[Record], list[float]]
) -> None:
    for number, (name, runs) in enumerate(cells.items()):
        _, valid = _losses(runs[0])
        style = "-"
        note = ""
        if not valid:
            style = "--"
            note = " (no bound)"
        of_seeds = list(zip(*(_losses(run)[0] for run in runs), strict=False))
        shown = [median(places) for places in zip(*map(place, runs), strict=False)]
        mean_of_seeds = [mean(values) for values in of_seeds]
        axes.plot(
            shown, mean_of_seeds, style, color=COLORS(number), linewidth=1.2, label=name + note
        )
        if len(runs) > 1:
            low, high = (list(map(pick, of_seeds)) for pick in (min, max))
            axes.fill_between(shown, low, high, color=COLORS(number), alpha=0.2, linewidth=0)
        if name in paper:
            axes.axhline(paper[name], color=COLORS(number), linestyle=":", linewidth=1)
    if paper:
        axes.plot([], [], "k:", linewidth=1, label="paper, after as long or at its end")


def _columns(labels: Sequence[str]) -> int:
    """Return the number of columns of a legend that is no wider than the page."""
    longest = max(map(len, labels))
    return max(1, min(LEGEND_COLUMNS, int(PAGE_WIDTH / (0.5 + CHARACTER * longest))))


def _limits(losses: Sequence[float]) -> tuple[float, float] | None:
    """Return the limits of an axis that shows all finite losses, or None."""
    finite = list(filter(isfinite, losses))
    if not finite:
        return None
    margin = 0.05 * (max(finite) - min(finite)) or 1.0
    return min(finite) - margin, max(finite) + margin


def _late(record: Record) -> list[float]:
    """Return the losses that have to be on the scale."""
    losses, _ = _losses(record)
    return losses[int(EARLY * len(losses)) :]


def _losses(record: Record) -> tuple[list[float], bool]:
    """Return the monitored number of each epoch, and whether it is a bound."""
    settings = record.config
    name = settings.get("estimator", "")
    perturbed = name in ESTIMATORS and issubclass(ESTIMATORS[name].distribution, PerturbAndMAP)
    encoder = settings.get("encoder", "")
    coupled = encoder in ENCODERS and ENCODERS[encoder].has_pairs
    coupled = coupled or settings.get("couplings", "none") != "none"
    if perturbed and coupled and all(SURROGATE in row for row in record.epochs):
        return [row[SURROGATE] for row in record.epochs], False
    return [row[BOUND] for row in record.epochs], True
