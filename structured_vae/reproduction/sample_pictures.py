"""The pictures of samples that cells leave beside their records, side by side."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image
from matplotlib.figure import Figure

from ..errors import RunError
from .experiments import Experiment
from .quantities import Records

SIDE = 4.0
"""The size of a picture in inches."""


def sample_pictures(experiment: Experiment, records: Records, folder: Path) -> Figure:
    """Plot pictures of samples, with a row for each dataset and a column for each cell.

    Args:
        experiment: the experiment of the cells.
        records: the records; the first of each cell names the dataset.
        folder: the folder of the records.

    Raises:
        RunError: a record has no picture.
    """
    rows: dict[str, list[tuple[str, Path]]] = {}
    for name, cells in records.items():
        path = folder / f"{name}-seed{cells[0].config['seed']}.png"
        if not path.exists():
            raise RunError(
                f"{path} is missing; delete the record beside it, and reproduce {experiment.name}"
            )
        rows.setdefault(cells[0].config["data"]["name"], []).append((name, path))
    count = len(rows), max(map(len, rows.values()))
    figure = Figure(figsize=(SIDE * count[1], (SIDE + 0.3) * count[0]), layout="constrained")
    for across, pictures in zip(figure.subplots(*count, squeeze=False), rows.values(), strict=True):
        for axes in across:
            axes.set_axis_off()
        for axes, (name, path) in zip(across, pictures, strict=False):
            axes.imshow(matplotlib.image.imread(path), cmap="gray", vmin=0, vmax=1)
            axes.set_title(name, fontsize=9)
    figure.suptitle(experiment.title)
    return figure
