"""`structured-vae solvers`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from solvers import available_solvers

from .terminal import command


def options() -> ArgumentParser:
    """What the command takes: nothing."""
    return command("solvers", "The argmax backends.")


def run(chosen: Namespace, console: Console) -> None:
    """Prints the table of backends, and how to install what is missing."""
    console.print(solver_table())
    for info in available_solvers():
        if info.capabilities is not None and not info.installed:
            console.print(f"{info.name}: {info.capabilities.install}")


def solver_table() -> Table:
    """The backends: exact or not, what they take, whether they can be used."""
    table = Table(title="argmax solvers")
    for column in (
        "name",
        "exact",
        "pairwise",
        "most n",
        "tree width",
        "device",
        "time limit",
        "ready",
    ):
        table.add_column(column, no_wrap=" " not in column)
    for info in available_solvers():
        can = info.capabilities
        if can is None:
            table.add_row(info.name, *["?"] * 7)
            continue
        table.add_row(
            info.name,
            "yes" if can.exact else "no",
            "none" if not can.pairwise else ">= 0" if can.supermodular_only else "any",
            str(can.max_size or "-"),
            f"<= {can.max_treewidth}" if can.max_treewidth is not None else "-",
            "yes" if can.on_device else "no",
            "yes" if can.time_limit else "no",
            "yes" if info.installed else "no",
        )
    return table
