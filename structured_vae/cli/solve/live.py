"""The progress line of a long solve: finished instances, the incumbent's value and the bound."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import Any, Self

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from solvers import Progress as SearchProgress
from solvers.conversions import Conversion

DELAY = 1.0
"""Seconds of work before the line is shown."""


class Live:
    """A progress line on a terminal; it shows nothing if the output is not a terminal.

    Attributes:
        heard: the callback for searches; None if its messages would not be shown.
    """

    def __init__(self, file: str, conversion: Conversion, console: Console):
        """Prepare the line without showing it."""
        self._conversion = conversion
        self._begin = time.monotonic()
        self._line = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("solved{task.fields[incumbent]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._line.add_task(file, total=conversion.problem.batch, incumbent="")
        self._started = False
        self._shown = console.is_terminal
        has_incumbent = self._shown and conversion.problem.batch == 1
        self.heard = None
        if has_incumbent:
            self.heard = self._hear

    def __enter__(self) -> Self:
        """Return the line itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the line."""
        if self._started:
            self._line.stop()

    def done(self, instances: int) -> None:
        """Show the number of solved instances."""
        if self._shown and not self._started and time.monotonic() - self._begin >= DELAY:
            self._line.start()
            self._started = True
        self._line.update(self._task, completed=instances)

    def _hear(self, search: SearchProgress[Any]) -> None:
        """Show the value of the incumbent and the bound, in the objective of the file."""
        z = search.z.reshape(-1)
        score = float(np.ravel(search.score)[0])
        limit = float(np.ravel(search.bound)[0])
        incumbent = "no state yet"
        bound = float(self._conversion.value(limit))
        if math.isfinite(score):
            incumbent = f"best {self._conversion.objective(z):.8g}"
            bound = self._conversion.objective_bound(z, limit)
        bound_text = "no bound yet"
        if math.isfinite(limit):
            bound_text = f"bound {bound:.8g}"
        self._line.update(self._task, incumbent=f", {incumbent}, {bound_text}")
