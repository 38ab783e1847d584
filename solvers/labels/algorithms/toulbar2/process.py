"""Process that searches one network after the other, and stops on request."""

from __future__ import annotations

import math
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import SolveFailedError
from ....limits.deadline import Deadline, uncounted
from . import worker

GRACE = 1.0
"""Seconds between the request to stop and the kill, in which the process may still answer."""

EXACT = 1 << 53
"""Limit up to which every whole number has an exact float.

From here on, the float nearest to a bound may lie above it.
"""


class Found(NamedTuple):
    """Result of the search of a network.

    Attributes:
        labels: `[n]`, the best labels; None without any.
        least: a lower bound on the cost; None if every assignment costs the top.
    """

    labels: np.ndarray | None
    least: int | None


class Process:
    """Process of toulbar2, which starts with the first network and searches one at a time."""

    def __init__(self) -> None:
        """Start no process yet."""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Process:
        """Return this object."""
        return self

    def __exit__(self, *error: object) -> None:
        """End the process."""
        self.end()

    def search(
        self, network: Path, n: int, deadline: Deadline, hear: Callable[[np.ndarray], object]
    ) -> Found:
        """Search a network until the deadline, and return the result.

        Args:
            network: the path of a wcsp file.
            n: number of variables of the network.
            deadline: time at which the search stops.
            hear: called with labels `[n]` whenever better labels are found.

        Raises:
            SolveFailedError: the process ended without an answer.
        """
        process = self._started()
        labels = None
        stop = _Stop(process)
        with deadline.alarm(stop):
            _ask(process, network)
            for line in process.stdout:  # type: ignore[union-attr]
                words = line.split()
                if words[:1] == ["END"]:
                    stop.answered.set()
                    break
                # A line of n numbers is a new solution; toulbar2 prints other lines as well.
                if len(words) == n and all(word.isdecimal() for word in words):
                    labels = np.array(words, np.int64)
                    hear(labels)
            else:  # the process ended
                self.end()
                if not stop.rung:
                    raise SolveFailedError(
                        f"toulbar2 ended without an answer, with status {process.returncode}"
                    )
                return Found(labels, 0)
        if stop.rung:  # its state may be unfit for another network
            self.end()
        elif words[2] == "nothing":
            return Found(None, None)
        return Found(labels, _whole_below(float(words[1])))

    def end(self) -> None:
        """End the process; the next search starts another one."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            with uncounted():
                self._process = subprocess.Popen(  # noqa: S603  # our own file
                    [sys.executable, "-P", str(Path(worker.__file__))],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    text=True,
                    # the waiting process handles Ctrl-C by its deadline
                    start_new_session=True,
                )
        return self._process


class _Stop:
    """Request to stop, and kill of a process that does not respond."""

    def __init__(self, process: subprocess.Popen[str]):
        self._process = process
        self.rung = False
        self.answered = threading.Event()

    def __call__(self) -> None:
        self.rung = True
        if sys.platform == "win32":
            word = signal.SIGTERM
        else:
            word = signal.SIGINT
        self._process.send_signal(word)
        if not self.answered.wait(GRACE):
            self._process.kill()


def _ask(process: subprocess.Popen[str], network: Path) -> None:
    with suppress(BrokenPipeError):  # it has ended, and writes nothing more
        process.stdin.write(f"{network}\n")  # type: ignore[union-attr]  # it has pipes
        process.stdin.flush()  # type: ignore[union-attr]


def _whole_below(bound: float) -> int:
    """Return a whole lower bound that is valid although `bound` is rounded to a float."""
    if bound < EXACT:
        return max(0, math.floor(bound))
    return max(0, int(math.nextafter(bound, 0.0)))
