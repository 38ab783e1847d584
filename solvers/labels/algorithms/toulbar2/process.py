"""A process that searches one network after the other, and ends when it is told to."""

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
"""Seconds to say what was found, after the word to end; then the process is killed."""

EXACT = 1 << 53
"""Limit up to which every whole number has an exact float.

From here on, the float nearest to a bound may lie above it.
"""


class Found(NamedTuple):
    """What is known of a network.

    Attributes:
        labels: `[n]`, the best; None for none.
        least: no cost is less; None where everything costs the top.
    """

    labels: np.ndarray | None
    least: int | None


class Process:
    """toulbar2, for one network after the other; started when the first one comes."""

    def __init__(self) -> None:
        """Starts nothing yet."""
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Process:
        """Itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Ends the process."""
        self.end()

    def search(
        self, network: Path, n: int, deadline: Deadline, hear: Callable[[np.ndarray], object]
    ) -> Found:
        """What toulbar2 finds until the deadline.

        Args:
            network: a wcsp file.
            n: number of its variables.
            deadline: when to end.
            hear: gets labels `[n]` whenever better ones are found.

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
            else:  # killed, or its own end
                self.end()
                if not stop.rung:
                    raise SolveFailedError(
                        f"toulbar2 ended without an answer, with status {process.returncode}"
                    )
                return Found(labels, 0)
        if stop.rung:  # it may be in a state that no other network should find
            self.end()
        elif words[2] == "nothing":
            return Found(None, None)
        return Found(labels, _whole_below(float(words[1])))

    def end(self) -> None:
        """Ends the process; the next search starts another."""
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
                    # Ctrl-C is for who waits, and comes as the deadline's word
                    start_new_session=True,
                )
        return self._process


class _Stop:
    """The word to end, and the end of a process that does not listen."""

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
    with suppress(BrokenPipeError):  # it has ended, and says nothing more
        process.stdin.write(f"{network}\n")  # type: ignore[union-attr]  # it has pipes
        process.stdin.flush()  # type: ignore[union-attr]


def _whole_below(bound: float) -> int:
    """The whole lower bound of which the nearest float is reported."""
    if bound < EXACT:
        return max(0, math.floor(bound))
    return max(0, int(math.nextafter(bound, 0.0)))
