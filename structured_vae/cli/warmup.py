"""`structured-vae warmup`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from .terminal import command


def options() -> ArgumentParser:
    """What the command takes: nothing."""
    return command(
        "warmup",
        "Compile the kernels of all backends, so that no later process waits for it. It takes some minutes on one "
        "core where none is compiled yet, and some seconds where all are.",
    )


def run(chosen: Namespace, console: Console) -> None:
    """Compiles, shows how far it is, and prints the seconds that each backend took."""
    from solvers import warmup  # loads numba

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("compiling", total=None)
        seconds_of = warmup(
            lambda name, done, total: progress.update(bar, description=name, completed=done, total=total)
        )
    table = Table("solver", "seconds", title="kernels compiled, or read from disk")
    for name, seconds in seconds_of.items():
        table.add_row(name, f"{seconds:.1f}")
    console.print(table)
