"""Limit the time of exact sums, which have no result before they end."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from types import TracebackType
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


class stop_of_sums:  # noqa: N801  # a context, as others here
    """Give a flag `[1]` uint8 for a kernel, which becomes nonzero when it has to end.

    The kernel has to end when the time limit passes, or when an exception such as Ctrl-C leaves
    this context while a thread still runs the kernel. It is a class, since entering a
    generator takes a microsecond of each call.

    Args:
        work: estimated seconds of the work inside; short work is not watched.

    Raises:
        TimeLimitError: the time limit has passed.
    """

    __slots__ = ("_flag", "_watched", "_work")

    def __init__(self, work: float = math.inf) -> None:
        self._work = work
        self._watched: AbstractContextManager[np.ndarray] | None = None

    def __enter__(self) -> np.ndarray:
        """Begin."""
        limit = _LIMIT.get()
        if limit is None:
            self._flag = np.zeros(1, np.uint8)
        else:
            self._watched = limit.deadline.flag(self._work)
            self._flag = self._watched.__enter__()
        return self._flag

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End, and raise if the time is over and nothing else was raised."""
        self._flag.fill(1)
        if self._watched is None:
            return
        self._watched.__exit__(kind, error, trace)
        if kind is None:
            check_time()
