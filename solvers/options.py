"""What options may be: checks that say the name, the value and the range."""

from __future__ import annotations

import numpy as np

from .errors import OptionError, shortened

MOST_THREADS = 1024
"""A number above is a mistake, and would bring the machine to its knees before anybody sees it."""


def check_threads(threads: int | None) -> None:
    """Refuses what is no number of threads; None stands for all cores.

    Raises:
        OptionError: it is none.
    """
    if threads is not None:
        check_whole("threads", threads, 1, MOST_THREADS)


def is_whole(value: object, least: int, most: int | None = None) -> bool:
    """Whether this is a whole number of `least` to `most`, of Python's or numpy's."""
    if not isinstance(value, int | np.integer):
        return False
    return least <= int(value) and (most is None or int(value) <= most)


def check_whole(name: str, value: object, least: int, most: int | None = None) -> None:
    """Refuses what is no whole number of `least` to `most`.

    Raises:
        OptionError: it is none.
    """
    if not is_whole(value, least, most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise OptionError(f"{name} must be a whole number {span}; got {shortened(value)}")
