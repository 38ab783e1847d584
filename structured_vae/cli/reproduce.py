"""`structured-vae reproduce` and `report`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from ..reproduction.experiments import experiment_names
from ..reproduction.plan import plan
from .terminal import command


def reproduce_options() -> ArgumentParser:
    """What `reproduce` takes."""
    parser = command(
        "reproduce EXPERIMENT",
        "Train and evaluate what is missing of an experiment: one training run a cell, each with a run folder "
        "and a JSON record. Finished cells are left alone; stopped ones go on from their last epoch.",
    )
    parser.add_argument(
        "experiment", type=str, metavar="EXPERIMENT", help="; ".join(experiment_names())
    )
    parser.add_argument("--epochs", type=int | None, help="instead of the experiment's own")
    parser.add_argument("--seeds", type=list[int], default=[0], help="such as [0,1,2]")
    parser.add_argument(
        "--only", type=str, default="", help="a regular expression on names of cells"
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="cells side by side; each gets its share of the cores"
    )
    parser.add_argument(
        "--dry_run", action="store_true", help="say what would be run, and how long it would take"
    )
    parser.add_argument("--results", type=str, default="results", help="folder of the records")
    parser.add_argument(
        "--runs", type=str, default="runs/reproduce", help="folder of the run folders"
    )
    parser.add_argument(
        "--root", type=str | None, help="folder of the data, as --data.root of train"
    )
    return parser


def report_options() -> ArgumentParser:
    """What `report` takes."""
    parser = command(
        "report [EXPERIMENT]",
        "Tables (Markdown) and plots (PNG, SVG) of the records of experiments.",
    )
    parser.add_argument(
        "experiment", type=str | None, nargs="?", metavar="EXPERIMENT", help="default: all"
    )
    parser.add_argument("--results", type=str, default="results", help="folder of the records")
    parser.add_argument(
        "--output", type=str, default="results/report", help="folder for the report"
    )
    return parser


def run_reproduce(chosen: Namespace, console: Console) -> None:
    """Runs what is missing, or says what it is."""
    if chosen.dry_run:
        plan(chosen, console)
        return
    from ..reproduction.commands import reproduce  # loads torch

    reproduce(chosen, console)


def run_report(chosen: Namespace, console: Console) -> None:
    """Writes tables and plots."""
    from ..reproduction.commands import report  # loads matplotlib

    report(chosen, console)
