"""`structured-vae warmup`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from solvers import warmup

from .terminal import command


def options() -> ArgumentParser:
    """What the command takes: nothing."""
    return command(
        "warmup",
        "Compile the kernels of all backends, so that no later process waits for it. It takes some minutes on one "
        "core where none is compiled yet, and some seconds where all are.",
    )


def run(chosen: Namespace, console: Console) -> None:
    """Compiles, and prints the seconds that each backend took."""
    table = Table("solver", "seconds", title="kernels compiled, or read from disk")
    for name, seconds in warmup().items():
        table.add_row(name, f"{seconds:.1f}")
    console.print(table)
