"""Limit the time of exact sums, which have no result before they end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import NamedTuple

import numpy as np

from ..errors import TimeLimitError
from .deadline import Deadline, now


class _Limit(NamedTuple):
    """Time limit of the sums in a context.

    Attributes:
        requested: the caller's time limit, in seconds or as a deadline.
        deadline: time at which the sums have to end.
    """

    requested: float | Deadline
    deadline: Deadline


_LIMIT: ContextVar[_Limit | None] = ContextVar("solvers_limit_of_sums", default=None)


@contextmanager
def sums_within(limit: float | Deadline | None) -> Iterator[None]:
    """Limit the time of sums inside this context, in seconds or by a deadline; None for none.

    Raises:
        TimeLimitError: the time limit passed before the sums were complete.
    """
    if limit is None:
        yield
        return
    token = _LIMIT.set(_Limit(limit, Deadline.of(limit)))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def check_time() -> None:
    """Raise if the time limit of this context's sums has passed; call it every few milliseconds.

    Raises:
        TimeLimitError: it has passed.
    """
    limit = _LIMIT.get()
    if limit is None or not limit.deadline.passed:
        return
    if now() < limit.deadline.end:
        raise KeyboardInterrupt  # an interrupt of another thread ends all searches
    allowed = "than the deadline allows"
    if not isinstance(limit.requested, Deadline):
        allowed = f"than time_limit={limit.requested:g} seconds"
    raise TimeLimitError(
        f"the sums take longer {allowed}; give them more time, fix "
        "some variables, or ask for bounds on log Z with method='trw' and method='mean_field'"
    )


def stop_of_sums(work: float = math.inf) -> AbstractContextManager[np.ndarray]:
    """Give a flag `[1]` uint8 for a kernel, which becomes nonzero when it has to end.

    The kernel has to end when the time limit passes, or when an exception such as Ctrl-C leaves
    this context while a thread still runs the kernel.

    Args:
        work: estimated seconds of the work inside; short work is not watched.

    Raises:
        TimeLimitError: the time limit has passed.
    """
    limit = _LIMIT.get()
    if limit is None:
        return _Flag()
    return _watched(limit.deadline, work)


class _Flag:
    """Flag of a kernel without a time limit.

    It is a class, since entering a generator takes a microsecond of each call.
    """

    __slots__ = ("_flag",)

    def __init__(self) -> None:
        self._flag = np.zeros(1, np.uint8)

    def __enter__(self) -> np.ndarray:
        return self._flag

    def __exit__(self, *error: object) -> None:
        self._flag.fill(1)


@contextmanager
def _watched(deadline: Deadline, work: float) -> Iterator[np.ndarray]:
    """Give the flag of a kernel with a time limit; raise at the end if it has passed."""
    with deadline.flag(work) as flag:
        try:
            yield flag
        finally:
            flag.fill(1)
    check_time()
