"""Consoles, parsers and tables of files that all commands share."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import ArgumentParser
from rich.console import Console
from rich.table import Table

from .spelling import Parser


def console_of(stderr: bool = False) -> Console:
    """Make a console that prints file names as they are, without interpreting markup."""
    return Console(stderr=stderr, soft_wrap=True, markup=False, emoji=False)


def command(name: str, description: str) -> ArgumentParser:
    """Make the parser of one command."""
    return Parser(usage=f"structured-vae {name} [options]", description=description)


def file_table(files: list[Path], title: str) -> Table:
    """Make a table of files and their sizes."""
    table = Table(title=title)
    table.add_column("file", overflow="fold")
    table.add_column("kB", justify="right")
    for file in files:
        table.add_row(str(file), f"{file.stat().st_size / 1000:,.0f}")
    return table
