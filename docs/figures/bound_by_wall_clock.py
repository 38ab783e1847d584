"""Draws the README's figure: the test bound of 15 bits on Fashion-MNIST against wall clock, ours and the paper's.

`python docs/figures/bound_by_wall_clock.py` writes `docs/_static/bound_by_wall_clock.png` from the
records in `results/`. The test `test_docs.py` fails if the records have changed since.
"""

from __future__ import annotations

import hashlib
import json
from itertools import accumulate
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "_static" / "bound_by_wall_clock.png"

OURS = {
    "Gibbs posterior, annealed KL": "results/structured/general-gibbs-annealed-seed0.json",
    "perturb-and-MAP, direct optimization": "results/structured/general-direct-cosine-seed0.json",
}
"""The record of each curve."""

UNSTRUCTURED = 153.5
STRUCTURED = {"maximum flow": (2e4, 148), "CPLEX": (2.5e5, 145)}
"""Read by eye from the figure of Lorberbom et al. (2019): seconds and nats at the end of 300 epochs."""


def records() -> dict[str, Path]:
    """The record of each curve."""
    return {name: ROOT / path for name, path in OURS.items()}


def digest() -> str:
    """Of the records; the picture carries it."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in records().values())).hexdigest()


def draw() -> Figure:
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for (colour, side), (name, path) in zip(
        (("C0", -8), ("C2", 8)), records().items(), strict=True
    ):
        curve(axes, json.loads(path.read_text(encoding="utf-8")), name, colour, side)
    axes.axhline(UNSTRUCTURED, color="0.6", linewidth=1, linestyle=":")
    axes.text(
        7e5,
        UNSTRUCTURED + 0.5,
        "paper, no pairwise scores: a bound",
        color="0.4",
        fontsize=8,
        ha="right",
    )
    for name, (seconds, nats) in STRUCTURED.items():
        axes.plot(seconds, nats, "o", color="C3", fillstyle="none")
        axes.annotate(f"paper, {name}:\nnot a bound", (seconds, nats), (0, 9), textcoords="offset points",
                      color="C3", fontsize=8, ha="center")  # fmt: skip
    axes.set(
        xscale="log",
        xlabel="seconds of training (log)",
        ylabel="test images (nats)",
        ylim=(134, 190),
    )
    axes.set_xlim(40, 8e5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(
        frameon=False, fontsize=8, loc="upper right", title="ours: valid bounds", title_fontsize=8
    )
    return figure


def curve(axes: Axes, record: dict, name: str, colour: str, side: int) -> None:
    """The bound after every epoch, and the tightest one that `evaluate` gives at the best, with its number aside."""
    seconds = list(accumulate(row["seconds"] for row in record["epochs"]))
    found = record["evaluation"]["quantities"]
    bound = found.get("refined_bound", found["bound"])["value"]
    axes.plot(
        seconds,
        [row["test/bound"] for row in record["epochs"]],
        color=colour,
        linewidth=1.5,
        label=name,
    )
    axes.plot(seconds[-1], bound, "*", color=colour, markersize=10)  # at the end of training
    axes.annotate(
        f"{bound:.1f}", (seconds[-1], bound), (side, -3), textcoords="offset points", color=colour, fontsize=8,
        ha="left" if side > 0 else "right",
    )  # fmt: skip


if __name__ == "__main__":
    draw().savefig(PICTURE, dpi=160, metadata={"Description": digest()})
    print(f"written: {PICTURE}")
