"""What the commands print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.table import Table

from solvers import Solution, available_solvers
from solvers.conversions import Conversion


def solver_table() -> Table:
    """The backends: exact or not, what they take, what is missing."""
    table = Table(title="argmax solvers")
    for column in ("name", "exact", "takes", "most n", "tree width", "device", "time limit", "ready"):
        table.add_column(column, no_wrap=column in ("name", "takes"))
    for info in available_solvers():
        can = info.capabilities
        if can is None:
            table.add_row(info.name, *["?"] * 6, f"plug-in of {info.origin}")
            continue
        takes = "unary" if not can.pairwise else "pairwise >= 0" if can.supermodular_only else "any"
        table.add_row(
            info.name,
            "yes" if can.exact else "no",
            takes,
            str(can.max_size or "-"),
            f"<= {can.max_treewidth}" if can.max_treewidth is not None else "-",
            "yes" if can.on_device else "no",
            "yes" if can.time_limit else "no",
            "yes" if info.installed else f"no: {can.install}",
        )
    return table


def solution_table(conversion: Conversion, solution: Solution, file: str = "", shown: int = 10) -> Table:
    """The first few answers of a batch, with value and bound in the objective of the file's format."""
    place = f"{file}, " if file else ""
    table = Table(title=f"{place}solver {solution.solver}")
    for column in ("instance", "value", "optimal", "bound", "ones"):
        table.add_column(column, justify="right")
    z = solution.z.reshape(-1, solution.z.shape[-1])
    arrays = (conversion.value(solution.score), solution.optimal, conversion.value(solution.bound))
    rows = list(zip(*(array.reshape(-1) for array in arrays), z, strict=True))
    for number, (value, optimal, bound, state) in enumerate(rows[:shown]):
        ones = f"{int(state.sum())} of {len(state)}"
        table.add_row(str(number), f"{value:.10g}", "yes" if optimal else "no", f"{bound:.10g}", ones)
    if len(rows) > shown:
        table.caption = f"{len(rows) - shown} more"
    return table


def evaluation_table(evaluation: dict[str, Any], title: str) -> Table:
    """The quantities of an evaluation (`Evaluation.to_dict`), and how well each is known."""
    table = Table(title=title, caption=f"averages over {evaluation['images']} images, in nats")
    for column in ("", "value", "standard error", "known as", "what it is"):
        right = column in ("value", "standard error")
        table.add_column(column, justify="right" if right else "left", no_wrap=not column)
    for name, quantity in evaluation["quantities"].items():
        value, error = (f"{quantity[part]:.3f}" for part in ("value", "standard_error"))
        table.add_row(name, value, error, quantity["kind"], quantity["meaning"])
    return table


def gradient_table(reports: dict[str, dict[str, Any]], title: str) -> Table:
    """What was measured of each estimator (`GradientReport.to_dict`)."""
    table = Table(title=title, box=None, padding=(0, 1, 0, 0))
    table.add_column("estimator", no_wrap=True)
    shown = {"bias": "bias", "deviation": "deviation", "z_score": "z", "microseconds": "us"}
    for heading in (*shown.values(), *STATS):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, report in reports.items():
        numbers = (f"{report[key]:.2g}" for key in shown)
        stats = (f"{report['stats'][key]:.2f}" if key in report["stats"] else "" for key in STATS)
        table.add_row(name, *numbers, *stats)
    return table


STATS = ("changed", "saturated")


def file_table(files: list[Path], title: str) -> Table:
    """Files with their sizes."""
    table = Table(title=title)
    table.add_column("file", overflow="fold")
    table.add_column("kB", justify="right")
    for file in files:
        table.add_row(str(file), f"{file.stat().st_size / 1000:,.0f}")
    return table
