"""The commands `structured-vae reproduce` and `structured-vae report`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from ..reproduction.experiments import experiment_names
from ..reproduction.plan import plan
from .counts import check_count
from .terminal import command


def reproduce_options() -> ArgumentParser:
    """Make the parser of the options of `reproduce`."""
    parser = command(
        "reproduce EXPERIMENT",
        "Train and evaluate the missing cells of an experiment. Each cell is one training run "
        "with a run folder and a JSON record. Finished cells are skipped; stopped cells resume "
        "from their last epoch.",
    )
    parser.add_argument(
        "experiment", type=str, metavar="EXPERIMENT", help="; ".join(experiment_names())
    )
    parser.add_argument(
        "--epochs", type=int | None, help="number of epochs; default: the experiment's"
    )
    parser.add_argument(
        "--seeds", type=list[int], default=[0], help="seeds to run, such as [0,1,2]"
    )
    parser.add_argument(
        "--only",
        type=str,
        default="",
        help="run only the cells whose names match this regular expression",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="cells to run in parallel, which share the cores"
    )
    parser.add_argument(
        "--dry_run",
        action="store_true",
        help="only list the cells that would run, and how long they would take",
    )
    parser.add_argument("--results", type=str, default="results", help="folder of the records")
    parser.add_argument(
        "--runs", type=str, default="runs/reproduce", help="folder for the run folders"
    )
    parser.add_argument(
        "--root", type=str | None, help="folder of the data, as --data.root of train"
    )
    return parser


def report_options() -> ArgumentParser:
    """Make the parser of the options of `report`."""
    parser = command(
        "report [EXPERIMENT]",
        "Write tables (Markdown) and plots (PNG, SVG) of the records of experiments.",
    )
    parser.add_argument(
        "experiment",
        type=str | None,
        nargs="?",
        metavar="EXPERIMENT",
        help="experiment to report on; default: all",
    )
    parser.add_argument("--results", type=str, default="results", help="folder of the records")
    parser.add_argument(
        "--output", type=str, default="results/report", help="folder for the report"
    )
    return parser


def run_reproduce(chosen: Namespace, console: Console) -> None:
    """Run the missing cells of an experiment, or list them for a dry run."""
    check_count("epochs", chosen.epochs)
    check_count("jobs", chosen.jobs)
    for seed in chosen.seeds:
        check_count("seeds", seed, least=0)
    if chosen.dry_run:
        plan(chosen, console)
        return
    from ..reproduction.commands import reproduce  # loads torch

    reproduce(chosen, console)


def run_report(chosen: Namespace, console: Console) -> None:
    """Write tables and plots."""
    from ..reproduction.commands import report  # loads matplotlib

    report(chosen, console)
