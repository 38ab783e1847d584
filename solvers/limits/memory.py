"""How much memory is free, for what may take gigabytes."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ..errors import ProblemTooLargeError

if sys.platform != "win32":
    import resource

UNKNOWN = 1 << 32
"""Bytes taken as free where the system does not say."""

UNLIMITED = 1 << 62
"""Bytes where nothing sets a limit."""

LARGE = 1 << 30
"""Bytes for which users within this process take their turn."""

SMALL = 1 << 30
"""Bytes for which nobody need ask what is free."""


def check_memory(what: str, numbers: int) -> None:
    """Refuses what no step could hold, before the first tries.

    Args:
        what: takes memory, for the error.
        numbers: how many it has.

    Raises:
        ProblemTooLargeError: in double precision they need more than is free.
    """
    needed = 8 * numbers
    if needs_room(numbers) and needed > (room := free_memory()):
        raise ProblemTooLargeError(
            f"{what} takes {needed / 2**30:.3g} GiB in double precision, and {room / 2**30:.3g} GiB of memory are "
            "free; pass it in parts"
        )


def needs_room(numbers: int) -> bool:
    """Whether so many numbers in double precision are enough to ask what is free."""
    return numbers > SMALL // 8


class _Turns:
    """Of users of gigabytes, one after the other: two that each have room may not have it together.

    Attributes:
        lock: of the user whose turn it is; it may come back for more.
        held: bytes that it has.
    """

    def __init__(self) -> None:
        self.lock, self.held = threading.RLock(), 0


_TURNS = _Turns()


@contextmanager
def turn_of(needed: int, seconds: float) -> Iterator[bool]:
    """Inside it nobody else in this process has such a turn; False where it did not come in time, or has no room.

    Args:
        needed: bytes; up to LARGE nobody waits.
        seconds: to wait at most.
    """
    entered = False
    try:
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
    """Bytes that this process could take once the turn of others in it is over."""
    return free_memory() + _TURNS.held


def free_memory() -> int:
    """Bytes that this process could take now, by the machine's memory, its control group's limit and its own."""
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
    """What a container may still take; `UNLIMITED` where nothing limits it."""
    try:
        limit, used = (
            (folder / name).read_text("ascii").strip() for name in ("memory.max", "memory.current")
        )
        return int(limit) - int(used)
    except (OSError, ValueError):  # no control groups of version 2, or the limit is "max"
        return UNLIMITED


def _of_process(status: Path = Path("/proc/self/statm")) -> int:
    """What `ulimit` leaves of addresses and of data; `UNLIMITED` where it does not limit them."""
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
