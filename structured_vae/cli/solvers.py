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
    """Prints the table of backends."""
    console.print(solver_table())


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
