"""Check options; the errors have the name, the value and the range."""

from __future__ import annotations

import numpy as np

from .errors import OptionError, shortened

MOST_THREADS = 1024
"""Largest number of threads; more would be a mistake, and could make the machine unresponsive."""


def check_threads(threads: int | None) -> None:
    """Raise if `threads` is not a number of threads; None means all cores.

    Raises:
        OptionError: the value is invalid.
    """
    if threads is not None:
        check_whole("threads", threads, 1, MOST_THREADS)


def is_whole(value: object, least: int, most: int | None = None) -> bool:
    """Return whether `value` is a whole number from `least` to `most`, of Python or numpy."""
    if not isinstance(value, int | np.integer):
        return False
    return least <= int(value) and (most is None or int(value) <= most)


def check_memory_limit(memory: int | None) -> None:
    """Raise if `memory` is neither None nor a positive number of bytes.

    Raises:
        OptionError: the value is invalid.
    """
    if memory is not None:
        check_whole("memory", memory, 1)


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Raise if `value` is not a whole number from `least` to `most`.

    Raises:
        OptionError: the value is invalid.
    """
    if not is_whole(value, least, most):
        if most is None:
            span = f"of at least {least}"
        else:
            span = f"from {least} to {most}"
        raise OptionError(f"{name} must be a whole number {span}; got {shortened(value)}")
