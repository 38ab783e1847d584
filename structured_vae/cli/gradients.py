"""The command `structured-vae gradients`."""

from __future__ import annotations

from typing import Any

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from .counts import check_count
from .terminal import command

STATS = ("changed", "saturated")
"""The statistics of estimators that the table shows."""


def options() -> ArgumentParser:
    """Make the parser of the command's options."""
    parser = command(
        "gradients RUN",
        "Measure bias, variance and cost of several gradient estimators, if they apply to a run's "
        "encoder, compared with the exact gradient. Writes gradients.png and gradients.json into "
        "the run's folder.",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "--checkpoint", choices=["best", "last"], default="best", help="epoch to measure"
    )
    parser.add_argument("--images", type=int, default=100, help="number of test images")
    parser.add_argument(
        "--draws", type=int, default=10_000, help="gradient draws per image and setting"
    )
    parser.add_argument(
        "--estimators",
        nargs="+",
        type=str,
        metavar="NAME",
        help="estimators to measure, by the names of train; default: a usual choice of those that "
        "fit the encoder",
    )
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Measure the estimators, and say where the figure was written."""
    check_count("images", chosen.images)
    check_count("draws", chosen.draws)
    from ..runs.gradients import gradient_figure  # loads torch

    figure = gradient_figure(
        chosen.folder,
        chosen.checkpoint,
        chosen.images,
        chosen.draws,
        estimators=chosen.estimators,
    )
    reports = {name: report.to_dict() for name, report in figure.reports.items()}
    title = f"{chosen.folder}: gradients in the encoder's potentials"
    console.print(gradient_table(reports, title))
    console.print(f"written: {figure.picture}, {figure.record}")


def gradient_table(reports: dict[str, dict[str, Any]], title: str) -> Table:
    """Make a table of the reports of all estimators (`GradientReport.to_dict`)."""
    table = Table(title=title, box=None, padding=(0, 1, 0, 0))
    table.add_column("estimator", no_wrap=True)
    shown = {"bias": "bias", "deviation": "deviation", "z_score": "z", "microseconds": "us"}
    for heading in (*shown.values(), *STATS):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, report in reports.items():
        numbers = (f"{report[key]:.2g}" for key in shown)
        stats = (_stat(report["stats"], key) for key in STATS)
        table.add_row(name, *numbers, *stats)
    return table


def _stat(stats: dict[str, float], key: str) -> str:
    if key in stats:
        return f"{stats[key]:.2f}"
    return ""
