"""Decide when a search has to end: by a clock that stops during imports, or by an interrupt."""

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
"""Seconds between two checks of an alarm for interrupts."""


class _Clock:
    """Clock that counts seconds, except while a package is loaded."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = 0.0
        self._paused = 0.0
        # Pauses are counted per thread, since a signal may come between start and end of one.
        self._pauses: Counter[int] = Counter()

    def now(self) -> float:
        with self._lock:
            if self._pauses:
                running = self._since
            else:
                running = time.monotonic()
            return running - self._paused

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
        """Start the clock for work of this thread, even if this or a dead thread had stopped it."""
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
    """Reset the clock in a child process, without the parent's other threads and their lock."""
    _CLOCK.__init__()  # type: ignore[misc]  # in place, since other modules refer to it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def now() -> float:
    """Return the seconds on the clock of all deadlines, which stops inside `uncounted`."""
    return _CLOCK.now()


def loading_begins() -> None:
    """Stop the clock, until as many calls of `loading_ends`."""
    _CLOCK.stop()


def loading_ends() -> None:
    """Start the clock again."""
    _CLOCK.start()


@contextmanager
def uncounted() -> Iterator[None]:
    """Stop all time limits inside this context, for loading packages."""
    try:
        loading_begins()
        yield
    finally:
        loading_ends()


@dataclass(frozen=True, init=False)
class Deadline:
    """The time at which a solver returns its best result; interrupts and callbacks end it early.

    The clock stops while a package is loaded in any thread, so loading does not count.

    Attributes:
        end: the time on the clock `now`; infinite for no limit.
        interrupts: number of interrupts of this process before the outermost work of this context.
        watch: the watch that receives results until then; None for none.

    Example:
        >>> Deadline.after(None).passed, Deadline.after(60.0).passed, Deadline.after(1e-9).left <= 0
        (False, False, True)
    """

    end: float
    interrupts: int
    watch: Watch | None = field(default=None, compare=False, repr=False)

    def __init__(self, end: float, interrupts: int, watch: Watch | None = None) -> None:
        """Set an end on the clock `now`."""
        # Assigning through __dict__ takes a third of the time of a frozen dataclass.
        fields = self.__dict__
        fields["end"] = end
        fields["interrupts"] = interrupts
        fields["watch"] = watch

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """Return a deadline `seconds` from now; None leaves only interrupts and callbacks."""
        _CLOCK.begin()
        end = math.inf
        if seconds is not None:
            end = now() + seconds
        return cls(end, first_interrupts(), watch())

    @classmethod
    def of(cls, limit: float | Deadline | None) -> Deadline:
        """Return the deadline after some seconds, or the given one, with the watch of this context.

        Args:
            limit: seconds from now; a deadline, which keeps its end; or None for no limit.
        """
        if not isinstance(limit, Deadline):
            return cls.after(limit)
        watching = watch()
        if limit.watch is watching:
            return limit
        return replace(limit, watch=watching)

    @property
    def limited(self) -> bool:
        """Whether there is a time limit."""
        return self.end < math.inf

    @property
    def left(self) -> float:
        """Remaining seconds; infinite for no limit, negative after the end.

        After an interrupt or a callback's stop it is at most zero.
        """
        if self.interrupted:
            return min(0.0, self.end - now())
        if self.end < math.inf:
            return self.end - now()
        return math.inf

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C, a signal's handler or a callback has ended the work."""
        if self.watch is not None and self.watch.stopped:
            return True
        return interrupts() != self.interrupts or abandoned()

    @property
    def passed(self) -> bool:
        """Whether the work has to end now."""
        return self.left <= 0

    @property
    def seconds(self) -> float | None:
        """The remaining time as a time limit: None for no limit, and never zero."""
        left = self.left
        if left == math.inf:
            return None
        return max(1e-3, left)

    def within(self, seconds: float) -> Deadline:
        """Return this deadline, or a deadline `seconds` from now if that is sooner."""
        return replace(self, end=min(self.end, now() + seconds))

    def tell(self, news: Tell) -> None:
        """Pass the news of this deadline's problem to the watch, which takes them at intervals."""
        if self.watch is not None:
            self.watch.tell(news)

    def within_whole(self, subproblem: object, lift: Callable[[Known], Known]) -> Deadline:
        """Return this deadline for a subproblem; `lift` turns its news into news of the whole."""
        if self.watch is None:
            return self
        return replace(self, watch=Part(self.watch, subproblem, lift))

    def about(self, problem: object) -> Deadline:
        """Return this deadline, which only passes on news of the watched problem."""
        if self.watch is None or self.watch.problem is problem:
            return self
        return replace(self, watch=Aside(self.watch))

    @contextmanager
    def alarm(self, ring: Callable[[], object], news: Tell | None = None) -> Iterator[None]:
        """Call `ring` in another thread when the deadline passes; until then, report `news`."""
        ended = threading.Event()

        def watch() -> None:
            # The waits are short, so that news is reported and an interrupt is noticed.
            while not ended.wait(max(0.0, min(self.left, TICK))):
                if self.passed:
                    ring()
                    return
                if news is not None:
                    self.tell(news)

        watcher = threading.Thread(target=copy_context().run, args=(watch,), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()
            watcher.join()

    @contextmanager
    def flag(self, work: float = math.inf, news: Tell | None = None) -> Iterator[np.ndarray]:
        """Yield a flag `[1]` uint8 for kernels, which becomes nonzero when the deadline passes.

        Args:
            work: estimated seconds of the work inside; short work is not watched.
            news: reported meanwhile, from another thread; None if the work inside reports its news.
        """
        flag = np.full(1, self.passed, np.uint8)
        if work < WATCHED and work < self.left:
            yield flag
            return
        with self.alarm(lambda: flag.fill(1), news):
            yield flag


_PREPARATION: ContextVar[Deadline | None] = ContextVar("solvers_preparation", default=None)

PREPARATION_SHARE = 0.2
"""Maximum share of a time limit for choosing a solver."""


class preparing:  # noqa: N801  # a context
    """Limit the choice of a solver inside this context to a share of the remaining time.

    It is a class, since entering a generator takes a microsecond of each call.

    Args:
        deadline: the deadline of the whole call; None for none.
    """

    __slots__ = ("_share", "_token")

    def __init__(self, deadline: Deadline | None) -> None:
        self._share: Deadline | None = None
        if deadline is not None and deadline.limited:
            self._share = deadline.within(PREPARATION_SHARE * deadline.left)

    def __enter__(self) -> None:
        """Begin the context."""
        self._token = _PREPARATION.set(self._share)

    def __exit__(self, *error: object) -> None:
        """End the context, with or without an error."""
        _PREPARATION.reset(self._token)


def preparation() -> Deadline | None:
    """Return the deadline for choosing a solver in this context; None for no limit."""
    return _PREPARATION.get()
