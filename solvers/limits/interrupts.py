"""Ctrl-C while a problem is solved: searches stop early and say what they have, and no call waits for a kernel.

Compiled kernels and other people's libraries do not look at signals. So they work in threads, the main one waits, and
a signal is counted: whoever searches sees the number rise and ends as if its time were up.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from itertools import count
from types import FrameType
from typing import Generic, TypeVar

from .progress import watch

T = TypeVar("T")

TICK = 0.1
"""Seconds between two looks of a waiting thread at what Windows does not wake it for."""

GRACE = 0.8
"""Seconds that threads get to end by themselves after an interrupt."""


class _Interrupts:
    """How many there were in this process; it only rises, so that no one who looks late misses one."""

    def __init__(self) -> None:
        self._numbers, self.count = count(1), 0

    def add(self) -> None:
        self.count = next(self._numbers)


_INTERRUPTS = _Interrupts()


def interrupt_solves() -> None:
    """Makes every search of this process stop early, as Ctrl-C does; from any thread.

    The calls raise `SolveInterrupted`, which has what was found.
    """
    _INTERRUPTS.add()


def interrupts() -> int:
    """How many interrupts there were in this process."""
    return _INTERRUPTS.count


@contextmanager
def counted_interrupts() -> Iterator[None]:
    """Inside it, the first Ctrl-C is counted instead of raised; a second one is raised at once.

    In the main thread, and where nobody has another idea of Ctrl-C; else it changes nothing.
    """
    usual = signal.default_int_handler
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, usual)
        interrupt_solves()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, usual)


class _Queue(Generic[T]):
    """Calls that several threads take one by one."""

    def __init__(self, calls: Sequence[Callable[[], T]]):
        self._calls, self._numbers, self._lock = calls, iter(range(len(calls))), threading.Lock()
        self.answers: list[T | None] = [None] * len(calls)
        self.errors: dict[int, BaseException] = {}
        self.closed = False

    def work(self) -> None:
        while (number := self._next()) is not None:
            try:
                self.answers[number] = self._calls[number]()
            except BaseException as error:  # raised again by who waits
                self.errors[number] = error
                self.closed = True

    def _next(self) -> int | None:
        with self._lock:
            return None if self.closed else next(self._numbers, None)


class _Worker(threading.Thread):
    """A thread whose end is an event: what a signal raises in `join` marks it as ended before Python 3.13."""

    def __init__(self, call: Callable[[], object], daemon: bool):
        super().__init__(target=copy_context().run, args=(call,), daemon=daemon)
        self._over = threading.Event()

    def run(self) -> None:
        try:
            super().run()
        finally:
            self._over.set()

    def ends_within(self, seconds: float) -> bool:
        """Waits for its end, that long at most; whether it came."""
        over = self._over.wait(seconds)
        if over:
            self.join()
        return over


def in_threads(calls: Sequence[Callable[[], T]], workers: int) -> list[T]:
    """What the calls return, in their order, from as many threads; the caller waits, and hears signals.

    No thread outlives the call, but for those that are in a kernel when an exception reaches the waiting thread: they
    end with the call that they are in, take no other, and do not keep the process alive.

    Raises:
        BaseException: what the first of the calls raised that failed, or a signal's handler.
    """
    queue, hears = _Queue(calls), watch()
    threads = [_Worker(queue.work, daemon=True) for _ in range(min(workers, len(calls)))]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            while not thread.ends_within(TICK):
                if hears is not None:
                    hears.poll()
    except BaseException:
        queue.closed = True
        interrupt_solves()
        for thread in threads:
            if thread.ident is not None:
                thread.ends_within(GRACE / len(threads))
        raise
    if queue.errors:
        raise queue.errors[min(queue.errors)]
    return queue.answers  # type: ignore[return-value]  # no call is left without answer or error


def ended(call: Callable[[], object], interrupted: Callable[[], bool]) -> bool:
    """Runs a call of somebody else's library, and says whether it ended.

    After an interrupt it has a while to end by itself. Then it is left alone, and the process ends after it: a library
    that calls back into an interpreter that is gone would abort.

    Raises:
        BaseException: what the call raised.
    """
    queue = _Queue([call])
    thread = _Worker(queue.work, daemon=False)
    thread.start()
    while not thread.ends_within(TICK) and not interrupted():
        pass
    over = thread.ends_within(GRACE)
    if queue.errors:
        raise queue.errors[0]
    return over
