"""The C library's allocator, told at once what it would learn of a training's buffers too late."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final

M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3

LARGEST_ON_HEAP: Final = 32 << 20
"""Bytes; the largest threshold that glibc takes, and that it comes to by itself."""

SETTINGS: Final = (
    "GLIBC_TUNABLES",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_MAX_",
)
"""Environment variables of those who have decided for themselves."""


def keep_freed_buffers() -> bool:
    """Lets the buffers of one training step serve the next; whether the allocator took it.

    Logits of some MiB go back to the operating system as soon as they are freed, and come again
    page by page, which can take a fifth of a step. glibc raises the size from which it does so with
    the buffers that it sees freed, up to 32 MiB, and keeps twice that: from here on it does both.
    Another C library is left alone, and so are settings of the environment.

    References:
        The GNU C Library reference manual, Malloc Tunable Parameters.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in SETTINGS):
        return False
    library = ctypes.CDLL(None)
    taken = library.mallopt(M_MMAP_THRESHOLD, LARGEST_ON_HEAP)
    return bool(taken and library.mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_ON_HEAP))
