"""A batch over the processor's cores, for compiled kernels that release the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import joblib
import numpy as np

from ..limits.interrupts import in_threads

NANOSECONDS_A_THREAD = 1_000_000
"""Starting a pool costs about 0.2 ms; a thread should get at least this much work."""

NANOSECONDS_A_CALL = 200_000_000
"""A signal waits no longer: calls that take longer are made in a thread, and several instances in several calls."""

MEMORY = 1 << 30
"""Bytes that the tables of all threads of a call may take."""


def over_slices(
    kernel: Callable[..., object],
    *arrays: np.ndarray,
    nanoseconds: float,
    threads: int | None = None,
    together: int = 1,
) -> None:
    """Calls `kernel(*slices)` for slices along the batch that share the work.

    The threads live as long as the call: none is left behind that a fork could lose, and calls from
    several threads of the caller do not meet. Only after Ctrl-C the slices that have begun go on.

    Args:
        kernel: fills its output slices.
        arrays: `[batch, ...]` each, inputs and outputs, C-contiguous.
        nanoseconds: estimated work of an instance.
        threads: most threads to use; None for the cores that this process may use.
        together: instances that the kernel works on side by side, which a signal therefore waits
            for.
    """
    batch = len(arrays[0])
    if batch * nanoseconds < 2 * NANOSECONDS_A_THREAD:  # most calls, too short for two threads
        kernel(*arrays)
        return
    workers = workers_of(batch, nanoseconds, threads)
    slices = max(workers, min(batch // together, int(batch * nanoseconds / NANOSECONDS_A_CALL)))
    if slices == 1 and batch * nanoseconds <= NANOSECONDS_A_CALL:
        kernel(*arrays)
        return
    parts = zip(*(np.array_split(array, slices) for array in arrays), strict=True)
    in_threads([partial(kernel, *part) for part in parts], workers)


def workers_of(batch: int, nanoseconds: float, threads: int | None) -> int:
    """How many threads share the work of a batch of so many nanoseconds an instance; `threads` at most."""
    workers = min(batch, int(batch * nanoseconds / NANOSECONDS_A_THREAD))
    if workers > 1:
        workers = min(workers, threads or available_cores())
    return max(1, workers)


def threads_in_memory(threads: int | None, bytes_a_thread: int) -> int:
    """`threads`, None for all cores, or as many of them as have room for their tables in MEMORY; at least one."""
    return min(threads or available_cores(), max(1, MEMORY // bytes_a_thread))


@cache
def available_cores() -> int:
    """How many cores this process may use, by its affinity and its control group.

    Asked once a process: joblib reads a file for it, which takes longer than a small batch.
    """
    cores: int = joblib.cpu_count()
    return cores
