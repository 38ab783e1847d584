"""The command `structured-vae solvers`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from solvers import Capabilities, available_solvers

from .terminal import command


def options() -> ArgumentParser:
    """Make the parser of the command, which has no options."""
    return command("solvers", "List the argmax solvers and how to install missing ones.")


def run(chosen: Namespace, console: Console) -> None:
    """Print the table of solvers, and how to install the missing ones."""
    console.print(solver_table())
    for info in available_solvers(load=True):
        if info.fault:
            console.print(f"{info.name}, of {info.origin}: {info.fault}", markup=False)
        elif info.capabilities is not None and info.missing:
            console.print(f"{info.name}: {info.capabilities.install}", markup=False)


def solver_table() -> Table:
    """Make a table of the solvers: whether they are exact, what they accept, what is installed."""
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
    for info in available_solvers(load=True):
        if info.capabilities is None:
            columns = ["?"] * 6
        else:
            columns = _columns(info.capabilities)
        table.add_row(info.name, *columns, _yes(info.installed))
    return table


def _columns(capabilities: Capabilities) -> list[str]:
    pairwise = "any"
    if not capabilities.pairwise:
        pairwise = "none"
    elif capabilities.supermodular_only:
        pairwise = ">= 0"
    treewidth = "-"
    if capabilities.max_treewidth is not None:
        treewidth = f"<= {capabilities.max_treewidth}"
    return [
        _yes(capabilities.exact),
        pairwise,
        str(capabilities.max_size or "-"),
        treewidth,
        _yes(capabilities.on_device),
        _yes(capabilities.time_limit),
    ]


def _yes(value: bool) -> str:
    if value:
        return "yes"
    return "no"
