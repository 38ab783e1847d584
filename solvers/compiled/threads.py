"""Share a batch over the processor's cores, for kernels that release the interpreter's lock."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache, partial

import numpy as np

from ..limits.interrupts import in_threads
from ..limits.limited_sums import check_time

NANOSECONDS_A_THREAD = 1_000_000
"""Minimum work of a thread, in nanoseconds, since starting a pool takes about 0.2 ms."""

NANOSECONDS_A_CALL = 200_000_000
"""Maximum work of one call of a kernel, which is the longest that a signal waits.

Longer calls run in a thread, and several instances in several calls."""

MEMORY = 1 << 30
"""Maximum number of bytes for the tables of all threads of a call."""


def over_slices(
    kernel: Callable[..., object],
    *arrays: np.ndarray,
    nanoseconds: float,
    threads: int | None = None,
    together: int = 1,
) -> None:
    """Call `kernel(*slices)` for slices along the batch that share the work.

    The threads end with the call, so that a fork loses none, and calls from several threads of the
    caller do not interfere. Only after Ctrl-C, slices that have begun continue.

    Args:
        kernel: the function that fills its output slices.
        arrays: `[batch, ...]` each, inputs and outputs, C-contiguous.
        nanoseconds: estimated work of an instance.
        threads: maximum number of threads; None for the cores that this process may use.
        together: number of instances that the kernel handles at a time; a signal waits for them.
    """
    batch = len(arrays[0])
    if is_short(batch, nanoseconds):  # most calls
        kernel(*arrays)
        return
    workers = workers_of(batch, nanoseconds, threads)
    slices = max(workers, min(batch // together, int(batch * nanoseconds / NANOSECONDS_A_CALL)))
    if slices == 1 and batch * nanoseconds <= NANOSECONDS_A_CALL:
        kernel(*arrays)
        return
    shares = zip(*(np.array_split(array, slices) for array in arrays), strict=True)
    in_threads([partial(_in_time, kernel, *share) for share in shares], workers)


def is_short(batch: int, nanoseconds: float) -> bool:
    """Return whether a batch is too short for two threads; an instance takes `nanoseconds`."""
    return batch * nanoseconds < 2 * NANOSECONDS_A_THREAD


def _in_time(kernel: Callable[..., object], *arrays: np.ndarray) -> None:
    """Call a kernel, unless the time of exact sums is over."""
    check_time()
    kernel(*arrays)


def workers_of(batch: int, nanoseconds: float, threads: int | None) -> int:
    """Return how many threads share a batch, at most `threads`.

    The batch takes `nanoseconds` per instance.
    """
    workers = min(batch, int(batch * nanoseconds / NANOSECONDS_A_THREAD))
    if workers > 1:
        workers = min(workers, threads or available_cores())
    return max(1, workers)


def threads_in_memory(threads: int | None, bytes_a_thread: int) -> int:
    """Return the number of threads, at least 1, whose tables fit into MEMORY.

    None means all cores.
    """
    return min(threads or available_cores(), max(1, MEMORY // bytes_a_thread))


@cache
def available_cores() -> int:
    """Return the number of cores that this process may use, by affinity and control group.

    The result is cached: joblib reads a file for it, which takes longer than a small batch. The
    import of joblib takes 50 ms, which the first call of a small problem need not pay.
    """
    cores: int = importlib.import_module("joblib").cpu_count()
    return cores
