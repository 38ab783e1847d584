"""Depth in a real pair of images, for the page on labels: the left image, the disparities found and the measured ones.

    STRUCTURED_VAE_DATA=FOLDER python docs/figures/stereo.py docs/_static/stereo.png

The pair is the motorcycle of the Middlebury stereo set of 2014, at a quarter of its size, as
scikit-image has it.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # where the benchmarks lie

import numpy as np
from matplotlib.figure import Figure

from benchmarks.stereo import of_pair
from benchmarks.structured_data import stereo
from solvers.labels import solve

NAME, SECONDS = "motorcycle_d4", 10.0


def main(output: Path) -> None:
    task, (left, _, measured) = of_pair(NAME), stereo(NAME)
    found = solve(task.problem, time_limit=SECONDS)
    gap = float(found.bound - found.score) / abs(float(found.score))
    figure = Figure(figsize=(9, 2.4), layout="constrained")
    axes = figure.subplots(1, 3)
    shown = (np.clip(left / 255, 0, 1), found.labels.reshape(measured.shape), measured)
    titles = ("left image", f"found, within {100 * gap:.2f}% of the bound", "measured")
    for ax, image, title in zip(axes, shown, titles, strict=True):
        ax.imshow(image, cmap="viridis", vmin=0, vmax=task.problem.k - 1)
        ax.set_title(title, fontsize=9)
        ax.set_axis_off()
    figure.savefig(output, dpi=120)
    print(output, found.solver, bool(found.optimal), gap, task.wrong(found.labels))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
