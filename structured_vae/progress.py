"""A progress bar for work that turns out to be long."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

LONG = 1.0
"""Seconds without a bar."""


@contextmanager
def late_progress(console: Console, title: str, total: int) -> Iterator[Callable[[int], None]]:
    """Gives a function to call with the number done; after a second on a terminal there is a bar.

    The bar goes away at the end. Nothing is ever written where `console` is no terminal.

    Example:
        >>> from io import StringIO
        >>> with late_progress(Console(file=StringIO()), "problem.npz", 3) as progress:
        ...     progress(1)
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
    task = bar.add_task(escape(title), total=total)
    shown_from = time.monotonic() + LONG

    def report(done: int) -> None:
        if console.is_terminal and not bar.live.is_started and time.monotonic() >= shown_from:
            bar.start()
        bar.update(task, completed=done)

    try:
        yield report
    finally:
        if bar.live.is_started:
            bar.stop()
