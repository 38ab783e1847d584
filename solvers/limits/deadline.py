"""When a search has to end: at a time of a clock that stands still while packages are loaded, or at a word."""

from __future__ import annotations

import math
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace

import numpy as np

from .interrupts import abandoned, first_interrupts, interrupts
from .progress import Aside, Known, Part, Tell, Watch, watch

WATCHED = 0.05
"""Seconds of work that are worth an alarm, which takes about a tenth of a millisecond."""

TICK = 0.02
"""Seconds between two looks of an alarm at interrupts."""


class _Clock:
    """Seconds since some moment, without those in which a package was loaded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since, self._paused = 0.0, 0.0
        # by thread: a signal may come between a beginning and its end
        self._pauses: Counter[int] = Counter()

    def now(self) -> float:
        with self._lock:
            return (self._since if self._pauses else time.monotonic()) - self._paused

    def stop(self) -> None:
        with self._lock:
            if not self._pauses:
                self._since = time.monotonic()
            self._pauses[threading.get_ident()] += 1

    def start(self) -> None:
        thread = threading.get_ident()
        with self._lock:
            if self._pauses[thread] > 1:
                self._pauses[thread] -= 1
            else:
                self._end(thread)

    def begin(self) -> None:
        """This thread begins a work: what it left, or threads that are no more, stops the clock no longer."""
        if self._pauses:
            alive = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
            with self._lock:
                for thread in set(self._pauses) - alive:
                    self._end(thread)

    def _end(self, thread: int) -> None:
        if self._pauses.pop(thread, 0) and not self._pauses:
            self._paused += time.monotonic() - self._since


_CLOCK = _Clock()


def _after_fork() -> None:
    """Other threads, which may have stopped the clock or hold its lock, are not in the child."""
    _CLOCK.__init__()  # type: ignore[misc]  # in place, as others know it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def now() -> float:
    """Seconds on the clock of all deadlines, which stands still inside `uncounted`."""
    return _CLOCK.now()


def loading_begins() -> None:
    """Stop the clock, until as many calls of `loading_ends`."""
    _CLOCK.stop()


def loading_ends() -> None:
    """Let the clock run again."""
    _CLOCK.start()


@contextmanager
def uncounted() -> Iterator[None]:
    """Inside it no time limit runs down: for loading packages."""
    try:
        loading_begins()
        yield
    finally:
        loading_ends()


@dataclass(frozen=True, init=False)
class Deadline:
    """When to come back with the best that was found: a moment, or before, at an interrupt or where a callback says so.

    The clock stands still while a package is loaded, in whatever thread: that counts against no
    limit.

    Attributes:
        end: on the clock `now`; infinite for none.
        interrupts: how many there were in this process when the outermost work of this context
            began.
        watch: who hears what is found until then; None for nobody.

    Example:
        >>> Deadline.after(None).passed, Deadline.after(60.0).passed, Deadline.after(1e-9).left <= 0
        (False, False, True)
    """

    end: float
    interrupts: int
    watch: Watch | None = field(default=None, compare=False, repr=False)

    def __init__(self, end: float, interrupts: int, watch: Watch | None = None) -> None:
        """A moment on the clock `now`."""
        own = self.__dict__  # one by one, a frozen dataclass takes three times as long
        own["end"] = end
        own["interrupts"] = interrupts
        own["watch"] = watch

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """So many seconds from now; None for none, but interrupts and callbacks."""
        _CLOCK.begin()
        end = math.inf if seconds is None else now() + seconds
        return cls(end, first_interrupts(), watch())

    @property
    def left(self) -> float:
        """Seconds; infinite for no limit, negative when it has passed, zero after an interrupt or a callback's word."""
        if self.interrupted:
            return min(0.0, self.end - now())
        return self.end - now() if self.end < math.inf else math.inf

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C, a signal's handler or a callback's word ended the work, whatever time is left."""
        if self.watch is not None and self.watch.stopped:
            return True
        return interrupts() != self.interrupts or abandoned()

    @property
    def passed(self) -> bool:
        """Whether to end now."""
        return self.left <= 0

    @property
    def seconds(self) -> float | None:
        """What is left as a time limit: None for no limit, and never zero."""
        left = self.left
        return None if left == math.inf else max(1e-3, left)

    def within(self, seconds: float) -> Deadline:
        """This deadline, or one in so many seconds where that is sooner."""
        return replace(self, end=min(self.end, now() + seconds))

    def tell(self, known: Tell) -> None:
        """Says what is known of the problem that this deadline is for; asked for from time to time alone."""
        if self.watch is not None:
            self.watch.tell(known)

    def within_whole(self, part: object, lift: Callable[[Known], Known]) -> Deadline:
        """This deadline for a problem that another is solved by; `lift` says what is then known of that one."""
        return self if self.watch is None else replace(self, watch=Part(self.watch, part, lift))

    def about(self, problem: object) -> Deadline:
        """This deadline, which nobody hears of where it is another problem that they wait for."""
        if self.watch is None or self.watch.problem is problem:
            return self
        return replace(self, watch=Aside(self.watch))

    @contextmanager
    def alarm(self, ring: Callable[[], object], known: Tell | None = None) -> Iterator[None]:
        """Inside it, `ring` is called in another thread once the deadline has passed; until then that tells `known`."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(max(0.0, min(self.left, TICK))):
                if self.passed:
                    ring()
                    return
                if known is not None:
                    self.tell(known)

        watcher = threading.Thread(target=copy_context().run, args=(watch,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    @contextmanager
    def flag(self, work: float = math.inf, known: Tell | None = None) -> Iterator[np.ndarray]:
        """`[1]` uint8, zero until the deadline has passed: what kernels look at inside it.

        Args:
            work: estimated seconds of what is done inside; what is soon over is not watched.
            known: told meanwhile, from another thread; None where what is done inside tells by
                itself.
        """
        flag = np.full(1, self.passed, np.uint8)
        if work < WATCHED and work < self.left:
            yield flag
            return
        with self.alarm(lambda: flag.fill(1), known):
            yield flag


_PREPARATION: ContextVar[Deadline | None] = ContextVar("solvers_preparation", default=None)

PREPARATION_SHARE = 0.2
"""Of a time limit, at most, for choosing a solver."""


@contextmanager
def preparing(seconds: float | None) -> Iterator[None]:
    """Limit what is done inside this context to choose a solver to a share of a time limit.

    Args:
        seconds: the time limit; None for none.
    """
    share = None if seconds is None else Deadline.after(PREPARATION_SHARE * seconds)
    token = _PREPARATION.set(share)
    try:
        yield
    finally:
        _PREPARATION.reset(token)


def preparation() -> Deadline | None:
    """Return when the choice of a solver in this context has to end; None for no limit."""
    return _PREPARATION.get()
