"""Test loss by epoch and by hours of training, a line a cell."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any, Final

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .experiments import Experiment
from .quantities import Records
from .records import Record

BOUND: Final = "test/bound"
SURROGATE: Final = "test/bound_surrogate"
COLORS: Final = colormaps["tab20"]
MOST_LINES: Final = 10
"""Of a plot and its legend that can be told apart."""

EARLY: Final = 0.1
"""Share of the epochs whose losses may be off the scale."""


def curves(experiment: Experiment, records: Records) -> Figure:
    """The first seed of each cell; dashed where the number is no bound.

    There is a row for each dataset and size of the code, and for each encoder where cells are many. The paper's
    numbers are dotted, in the colours of their cells.
    """
    by_encoder = len(records) > MOST_LINES
    rows: dict[tuple[str, str, int, str], dict[str, Record]] = {}
    for name, cells in records.items():
        rows.setdefault(_row(cells[0].config, by_encoder), {})[name] = cells[0]
    figure = Figure(figsize=(11, 1 + 3 * len(rows)), layout="constrained")
    axes_of = figure.subplots(len(rows), 2, sharey="row", squeeze=False)
    for (left, right), ((data, axis, size, encoder), cells_of_row) in zip(
        axes_of, sorted(rows.items()), strict=True
    ):
        paper = {
            name: experiment.paper[name]["bound"]
            for name in cells_of_row
            if "bound" in experiment.paper.get(name, {})
        }
        _draw(left, cells_of_row, paper, lambda record: [row["epoch"] for row in record.epochs])
        _draw(right, cells_of_row, paper, _hours)
        late = [loss for record in cells_of_row.values() for loss in _late(record)] + list(paper.values())
        margin = 0.05 * (max(late) - min(late))
        left.set(xlabel="epoch", ylabel="test loss (nats)", ylim=(min(late) - margin, max(late) + margin))
        left.set_title(f"{data}, {axis} = {size}{encoder}", loc="left", fontsize=9)
        right.set_xlabel("hours")
        right.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize=7, frameon=False)
    figure.suptitle(experiment.title)
    return figure


def _row(config: dict[str, Any], by_encoder: bool) -> tuple[str, str, int, str]:
    """What the cells of a row share: dataset, k or n, its value, and the encoder where that counts."""
    axis = "k" if config["encoder"] == "categorical" else "n"
    if (variables := config.get("variables", 1)) > 1:
        return config["data"]["name"], f"{variables} variables of k", config[axis], ""
    encoder = f", {config['encoder']}" if by_encoder and axis == "n" else ""
    return config["data"]["name"], axis, config[axis], encoder


def _draw(
    axes: Axes,
    records: Mapping[str, Record],
    paper: Mapping[str, float],
    place: Callable[[Record], list[float]],
) -> None:
    for number, (name, record) in enumerate(records.items()):
        losses, valid = _losses(record)
        style, note = ("-", "") if valid else ("--", " (no bound)")
        axes.plot(place(record), losses, style, color=COLORS(number), linewidth=1, label=name + note)
        if name in paper:
            axes.axhline(paper[name], color=COLORS(number), linestyle=":", linewidth=1)
    if paper:
        axes.plot([], [], "k:", linewidth=1, label="paper, at its end")


def _late(record: Record) -> list[float]:
    """The losses that have to be on the scale."""
    losses, _ = _losses(record)
    return losses[int(EARLY * len(losses)) :]


def _losses(record: Record) -> tuple[list[float], bool]:
    """The tighter number of each epoch, and whether it is a bound."""
    perturbed = record.config["estimator"] != "score_function"
    coupled = record.config["encoder"] in ("supermodular", "general")
    loose = (coupled or record.config.get("couplings", "none") != "none") and perturbed
    if loose and record.config["model"] == "discrete":
        return [row[SURROGATE] for row in record.epochs], False
    return [row[BOUND] for row in record.epochs], True


def _hours(record: Record) -> list[float]:
    return [seconds / 3600 for seconds in accumulate(row["seconds"] for row in record.epochs)]
