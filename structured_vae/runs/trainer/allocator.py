"""Set the C library's allocator for the large buffers of a training."""

from __future__ import annotations

import ctypes
import os
import platform
from typing import Final

M_TRIM_THRESHOLD: Final = -1
M_MMAP_THRESHOLD: Final = -3

LARGEST_ON_HEAP: Final = 32 << 20
"""Bytes; the largest threshold that glibc accepts, and the value that it adapts to by itself."""

SETTINGS: Final = (
    "GLIBC_TUNABLES",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
    "MALLOC_MMAP_MAX_",
)
"""Environment variables with which a user configures the allocator."""


def keep_freed_buffers() -> bool:
    """Keep freed buffers for the next training step; return whether the allocator accepted.

    Logits of some MiB return to the operating system as soon as they are freed, and come back page
    by page, which can take a fifth of a step. glibc adapts the size from which it does so to the
    buffers that it sees freed, up to 32 MiB, and keeps twice that size. This function sets both
    values at once. Another C library and settings in the environment stay unchanged.

    References:
        The GNU C Library reference manual, Malloc Tunable Parameters.
    """
    if platform.libc_ver()[0] != "glibc" or any(name in os.environ for name in SETTINGS):
        return False
    library = ctypes.CDLL(None)
    taken = library.mallopt(M_MMAP_THRESHOLD, LARGEST_ON_HEAP)
    return bool(taken and library.mallopt(M_TRIM_THRESHOLD, 2 * LARGEST_ON_HEAP))
