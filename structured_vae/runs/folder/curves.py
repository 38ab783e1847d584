"""Plot the metrics of a run over its epochs, and define the style that run figures share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import RunError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

USUAL: Final = ("bound", "reconstruction", "kl")

PAGE_WIDTH: Final = 8.0
"""Width in inches: at the width of a page, the small print matches the page's."""

WIDTH: Final = 4.0
"""Size of one axes in inches."""


def legend_below(figure: Figure, axes: Axes) -> None:
    """Name the lines of one axes in a row below all axes, where the legend hides nothing."""
    lines, names = axes.get_legend_handles_labels()
    figure.legend(
        lines, names, loc="outside lower center", fontsize=8, frameon=False, ncols=len(names)
    )


def curves(metrics: Mapping[str, NDArray[np.float64]], names: Sequence[str] = ()) -> Figure:
    """Return a figure with one axes per metric, and one line per split that has the metric.

    Args:
        metrics: columns by name, such as "validation/bound", and "epoch".
        names: of metrics without the split; default: bound, reconstruction and kl.

    Raises:
        RunError: there is no such metric, or no metrics at all.
    """
    from matplotlib.figure import Figure  # slow to load, and folders are read by who draws nothing

    columns_of = {
        name: [column for column in metrics if column.partition("/")[2] == name]
        for name in names or USUAL
    }
    absent = [name for name, columns in columns_of.items() if not columns]
    if absent:
        raise RunError(f"no metric is called {', '.join(absent)}; {_present(metrics)}")
    count = len(columns_of)
    figure = Figure(figsize=(WIDTH * count, 3), layout="constrained")
    all_axes = figure.subplots(1, count, squeeze=False)[0]
    for axes, (name, columns) in zip(all_axes, columns_of.items(), strict=True):
        for column in columns:
            axes.plot(metrics["epoch"], metrics[column], marker=".", label=column.partition("/")[0])
        axes.set(xlabel="epoch", title=name)
        axes.legend(fontsize=8)
    return figure


def _present(metrics: Mapping[str, NDArray[np.float64]]) -> str:
    """Return which metrics there are, for a message."""
    names = sorted({column.partition("/")[2] for column in metrics if "/" in column})
    if not names:
        return "the run has not come to its first evaluation"
    return f"there are: {', '.join(names)}"
