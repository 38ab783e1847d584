"""How much memory is free, for algorithms whose tables may take gigabytes."""

from __future__ import annotations

import os
from pathlib import Path

UNKNOWN = 1 << 32
"""Bytes taken as free where the system does not say."""


def free_memory() -> int:
    """Bytes that this process could take now, by the machine's memory and by its control group's limit."""
    return min(_of_machine(), _of_group())


def _of_machine() -> int:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return UNKNOWN


def _of_group(folder: Path = Path("/sys/fs/cgroup")) -> int:
    """What a container may still take; 2^62 where nothing limits it."""
    try:
        limit, used = (
            (folder / name).read_text("ascii").strip() for name in ("memory.max", "memory.current")
        )
        return int(limit) - int(used)
    except (OSError, ValueError):  # no control groups of version 2, or the limit is "max"
        return 1 << 62
