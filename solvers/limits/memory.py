"""Measure the free memory, for work that may take gigabytes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from pathlib import Path

from ..errors import ProblemTooLargeError

if sys.platform != "win32":
    import resource

UNKNOWN = 1 << 32
"""Bytes that count as free if the system does not report them."""

UNLIMITED = 1 << 62
"""Number of bytes that represents no limit."""

LARGE = 1 << 30
"""Bytes above which users within this process take turns."""

SMALL = 1 << 30
"""Bytes up to which the free memory is not checked."""


def check_memory(what: str, numbers: int, remedy: str = "pass it in parts") -> None:
    """Raise if numbers in double precision do not fit into the free memory.

    Args:
        what: the name of the array, for the error.
        numbers: the number of values in the array.
        remedy: what to do instead, for the error.

    Raises:
        ProblemTooLargeError: they take more than the free memory.
    """
    needed = 8 * numbers
    if needs_room(numbers) and needed > (room := free_memory()):
        raise ProblemTooLargeError(
            f"{what} takes {gibibytes(needed)} in double precision, and only "
            f"{gibibytes(room)} of memory are free; {remedy}"
        )


def gibibytes(count: int) -> str:
    """Return a number of bytes as text, also one that is too large for a float.

    Example:
        >>> gibibytes(3 << 29), gibibytes(8**2000)
        ('1.5 GiB', '1.41e+1797 GiB')
    """
    return f"{Decimal(count) / 2**30:.3g} GiB"


def needs_room(numbers: int) -> bool:
    """Return whether this many numbers in double precision need a check of the free memory."""
    return numbers > SMALL // 8


class _Turns:
    """Turns of users of gigabytes, since two that fit separately may not fit together.

    Attributes:
        lock: held by the user whose turn it is; the same user may ask for more.
        held: bytes of that user.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.held = 0


_TURNS = _Turns()


@contextmanager
def turn_of(needed: int, seconds: float) -> Iterator[bool]:
    """Wait for a turn with enough memory; yield False if it came too late or lacks memory.

    Inside this context no other user in this process has a turn.

    Args:
        needed: number of bytes; up to LARGE no user waits.
        seconds: maximum time to wait.
    """
    entered = False
    try:
        # Only large users take turns, since small ones together hardly fill the memory.
        if needed > LARGE:
            entered = _TURNS.lock.acquire(timeout=max(0.0, min(seconds, threading.TIMEOUT_MAX)))
        granted = needed <= LARGE or (entered and needed <= free_memory())
        if entered:
            _TURNS.held += needed
        yield granted
    finally:
        if entered:
            _TURNS.held -= needed
            _TURNS.lock.release()


def memory_in_turn() -> int:
    """Return the bytes that this process could take after the current turn."""
    return free_memory() + _TURNS.held


def free_memory() -> int:
    """Return the bytes that this process could take now.

    The machine's memory, its control group's limit and the process's limits count.
    """
    return min(_of_machine(), _of_group(), _of_process())


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(
            1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")
        )
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _of_group(folder: Path = Path("/sys/fs/cgroup")) -> int:
    """Return the bytes that a container may still take; `UNLIMITED` without a limit."""
    try:
        limit = (folder / "memory.max").read_text("ascii").strip()
        used = (folder / "memory.current").read_text("ascii").strip()
        return int(limit) - int(used)
    except (OSError, ValueError):  # no control groups of version 2, or the limit is "max"
        return UNLIMITED


def _of_process(status: Path = Path("/proc/self/statm")) -> int:
    """Return the bytes of addresses and data that `ulimit` leaves; `UNLIMITED` without limits."""
    if sys.platform == "win32":
        return UNLIMITED
    left = UNLIMITED
    with suppress(OSError, ValueError):  # a system without such a file
        pages = [int(word) for word in status.read_text("ascii").split()]
        for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            soft, _ = resource.getrlimit(limit)
            if soft != resource.RLIM_INFINITY:
                left = min(left, soft - used * resource.getpagesize())
    return left
