"""What is seen of a long solve on a terminal: how many instances are done, the best value so far and its bound."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from solvers import Progress as Known
from solvers.conversions import Conversion

DELAY = 1.0
"""Seconds of work before anything is shown."""


class Live:
    """A line on a terminal; elsewhere nothing.

    Attributes:
        heard: what a search tells; None where nobody would see it, so that searches need not.
    """

    def __init__(self, file: str, conversion: Conversion, console: Console):
        """Shows nothing yet."""
        self._conversion, self._begin = conversion, time.monotonic()
        self._line = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("solved{task.fields[known]}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._line.add_task(file, total=conversion.problem.batch, known="")
        self._started = False
        self.heard = self._hear if console.is_terminal and conversion.problem.batch == 1 else None
        self._shown = console.is_terminal

    def __enter__(self) -> Self:
        """Begins to count the seconds."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Takes the line away."""
        if self._started:
            self._line.stop()

    def done(self, instances: int) -> None:
        """So many instances are solved."""
        if self._shown and not self._started and time.monotonic() - self._begin >= DELAY:
            self._line.start()
            self._started = True
        self._line.update(self._task, completed=instances)

    def _hear(self, known: Known[Any]) -> None:
        z, score, limit = (part.reshape(-1) for part in (known.z, known.score, known.bound))
        found, bounded = math.isfinite(score[0]), math.isfinite(limit[0])
        value, bound = (float(self._conversion.value(part[0])) for part in (score, limit))
        if found:
            value, bound = (
                self._conversion.objective(z),
                self._conversion.objective_bound(z, float(limit[0])),
            )
        best = f"best {value:.8g}" if found else "no state yet"
        limit_text = f"bound {bound:.8g}" if bounded else "no bound yet"
        self._line.update(self._task, known=f", {best}, {limit_text}")
