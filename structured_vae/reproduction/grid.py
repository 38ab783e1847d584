"""A grid of cells: tables beside the paper's, and how the numbers change along its rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Any

from matplotlib.figure import Figure

from ..runs.folder.curves import PAGE_WIDTH, legend_below
from .comparison import comparisons, of_the_papers_kind
from .experiments import Experiment
from .quantities import Records, markdown_table, mean_or_nan, shown, unit


def grid_tables(experiment: Experiment, records: Records) -> list[str]:
    """Return a table for each panel and quantity; counted cells as good as the paper's are bold."""
    panels, rows, lines = experiment.grid
    tables = []
    for quantity in experiment.quantities:
        as_good = {
            comparison.cell
            for comparison in comparisons(experiment, records, quantity)
            if comparison.is_as_good
        }
        for panel in panels.values:
            header = [rows.name]
            for line in lines.values:
                header += [str(line), "paper"]
            body = []
            for row in rows.values:
                cells = [experiment.name_of(panel, row, line) for line in lines.values]
                body.append([str(row), *_row(experiment, records, cells, quantity, as_good)])
            measured = [row for row in body if any(row[1:])]
            tables += [
                f"**{panel}, {quantity} in {unit(quantity)}**",
                "",
                *markdown_table(header, measured),
                "",
            ]
    return tables


def _row(
    experiment: Experiment,
    records: Records,
    names: list[str],
    quantity: str,
    as_good: set[str],
) -> list[str]:
    cells = []
    for name in names:
        values = of_the_papers_kind(records, name, quantity)
        epochs = 0
        if values:
            epochs = records[name][0].trained
        paper = experiment.paper_of(name, epochs).get(quantity)
        ours = shown(values)
        if name in as_good:
            ours = f"**{ours}**"
        theirs = ""
        if paper is not None:
            theirs = f"{paper:g}"
        cells += [ours, theirs]
    return cells


def _draw_line(
    axes: Any, ours: Sequence[float], paper: Sequence[float], *, color: str, label: str
) -> None:
    """Draw our numbers along the rows of a table, and the paper's dashed in the same colour."""
    places = range(len(ours))
    axes.plot(places, ours, "o-", color=color, markersize=3, linewidth=1, label=label)
    axes.plot(places, paper, "--", color=color, linewidth=1)


def grid_figure(experiment: Experiment, records: Records) -> Figure:
    """Plot every quantity along the rows of the tables, with the paper's numbers dashed."""
    panels, rows, lines = experiment.grid
    count = len(experiment.quantities), len(panels.values)
    figure = Figure(figsize=(PAGE_WIDTH, 3.0 * count[0]), layout="constrained")
    axes_of = figure.subplots(*count, squeeze=False)
    for across, quantity in zip(axes_of, experiment.quantities, strict=True):
        for axes, panel in zip(across, panels.values, strict=True):
            for number, line in enumerate(lines.values):
                names = [experiment.name_of(panel, row, line) for row in rows.values]
                by_cell = [of_the_papers_kind(records, name, quantity) for name in names]
                paper = [
                    experiment.paper.get(name, {}).get(quantity, float("nan")) for name in names
                ]
                # A line without any number would only fill the legend.
                if any(by_cell) or not all(map(isnan, paper)):
                    ours = [mean_or_nan(values) for values in by_cell]
                    _draw_line(axes, ours, paper, color=f"C{number}", label=str(line))
            axes.set_xticks(range(len(rows.values)), [str(row) for row in rows.values])
            axes.set(xlabel=rows.name, ylabel=unit(quantity), xlim=(-0.3, len(rows.values) - 0.7))
            axes.set_title(f"{panel}, {quantity}", fontsize=9)
    # One legend entry stands for the dashed lines of all colours.
    axes_of[0, 0].plot([], [], "k--", linewidth=1, label="paper")
    legend_below(figure, axes_of[0, 0])
    figure.suptitle(experiment.title)
    return figure
