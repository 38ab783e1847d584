"""Handle Ctrl-C during a solve: searches stop early with a result, and no call waits for a kernel.

Compiled kernels and third-party libraries do not handle signals. So they run in threads while the
main thread waits and counts signals. Searches see the count rise and end as if their time were up.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from itertools import count
from types import FrameType
from typing import Generic, TypeVar

from .progress import watch

T = TypeVar("T")

TICK = 0.1
"""Seconds between two checks of a waiting thread for events that do not wake it on Windows."""

GRACE = 0.8
"""Seconds after an interrupt in which threads may end by themselves."""


class _Interrupts:
    """Number of interrupts in this process, which only rises, so that late checks miss none."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self.count = 0

    def add(self) -> None:
        self.count = next(self._numbers)


_INTERRUPTS = _Interrupts()


def interrupt_solves() -> None:
    """Stop every search of this process early, as Ctrl-C does; any thread may call it.

    The calls raise `SolveInterrupted`, which carries their result so far.
    """
    _INTERRUPTS.add()


def interrupts() -> int:
    """Return the number of interrupts in this process."""
    return _INTERRUPTS.count


class _Scope:
    """The calls that one thread waits for in `in_threads`.

    Attributes:
        parent: the scope in which that thread itself works; None for none.
        closed: whether the thread has stopped waiting because of an exception.
    """

    def __init__(self, parent: _Scope | None):
        self.parent = parent
        self.closed = False

    @property
    def abandoned(self) -> bool:
        """Whether this scope or one around it is closed."""
        return self.closed or (self.parent is not None and self.parent.abandoned)


_SCOPE: ContextVar[_Scope | None] = ContextVar("solvers_scope", default=None)
_FIRST: ContextVar[int | None] = ContextVar("solvers_first_interrupts", default=None)


def abandoned() -> bool:
    """Return whether an exception has reached the thread that waits for this context's work."""
    scope = _SCOPE.get()
    return scope is not None and scope.abandoned


def first_interrupts() -> int:
    """Return the number of interrupts when the outermost search of this context began.

    A search loads packages and compiles kernels before it makes its own deadline. An interrupt in
    that time counts too.
    """
    first = _FIRST.get()
    if first is None:
        return _INTERRUPTS.count
    return first


@contextmanager
def counted_interrupts() -> Iterator[None]:
    """Count the first Ctrl-C inside this context instead of raising it; raise a second one at once.

    This holds in the main thread where no other handler of Ctrl-C is set. Otherwise signals are not
    changed.
    """
    token = _FIRST.set(first_interrupts())
    try:
        with _counted_signal():
            yield
    finally:
        _FIRST.reset(token)


@contextmanager
def _counted_signal() -> Iterator[None]:
    usual = signal.default_int_handler
    # A handler of the caller stays in place, and other threads may not set one.
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not usual:
        yield
        return

    def note(number: int, frame: FrameType | None) -> None:
        # The next Ctrl-C acts as usual, in case the searches do not end.
        signal.signal(signal.SIGINT, usual)
        interrupt_solves()

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        # The handler may have been replaced meanwhile; then it is not ours to restore.
        if signal.getsignal(signal.SIGINT) is note:
            signal.signal(signal.SIGINT, usual)


class kernels_hear_keyboard:  # noqa: N801  # a context
    """Raise the `KeyboardInterrupt` that a kernel turned into a `SystemError`.

    A compiled kernel that begins in the main thread while a signal is handled returns a result with
    an exception set. It is a class, since entering a generator takes a microsecond of each call.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        """Begin the context."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        """Raise the interrupt behind an error of a kernel."""
        if not isinstance(error, SystemError):
            return
        reason: BaseException | None = error
        while reason is not None and not isinstance(reason, KeyboardInterrupt):
            reason = reason.__cause__ or reason.__context__
        if reason is not None:
            raise reason from None


class _Queue(Generic[T]):
    """A queue of calls that several threads take one by one."""

    def __init__(self, calls: Sequence[Callable[[], T]]):
        self._calls = calls
        self._numbers = iter(range(len(calls)))
        self._lock = threading.Lock()
        self.answers: list[T | None] = [None] * len(calls)
        self.errors: dict[int, BaseException] = {}
        self.closed = False

    def work(self) -> None:
        while (number := self._next()) is not None:
            try:
                self.answers[number] = self._calls[number]()
            except BaseException as error:  # the waiting thread raises it again
                self.errors[number] = error
                self.closed = True

    def _next(self) -> int | None:
        with self._lock:
            if self.closed:
                return None
            return next(self._numbers, None)


class _Worker(threading.Thread):
    """A thread whose end is an event.

    Before Python 3.13, an exception that a signal raises in `join` marks the thread as ended.
    """

    def __init__(self, call: Callable[[], object], daemon: bool):
        super().__init__(target=copy_context().run, args=(call,), daemon=daemon)
        self._over = threading.Event()

    def run(self) -> None:
        try:
            super().run()
        finally:
            self._over.set()

    def ends_within(self, seconds: float) -> bool:
        """Wait up to `seconds` for the end of the thread, and return whether it came."""
        over = self._over.wait(seconds)
        if over:
            self.join()
        return over


def run_calls(calls: Sequence[Callable[[], T]], workers: int) -> list[T]:
    """Return the results of the calls, in order, from threads if more than one can work."""
    if min(workers, len(calls)) > 1:
        return in_threads(calls, workers)
    return [call() for call in calls]


def in_threads(calls: Sequence[Callable[[], T]], workers: int) -> list[T]:
    """Return the results of the calls, in order, from threads, while the caller handles signals.

    No thread outlives the call, except threads inside a kernel when an exception reaches the
    waiting thread. These end with their current call, take no other, and do not keep the process
    alive. Such an exception ends only the searches of these calls; Ctrl-C also ends those of other
    threads.

    Raises:
        BaseException: the exception of the first call that failed, or of a signal's handler.
    """
    queue = _Queue(calls)
    listener = watch()
    scope = _Scope(_SCOPE.get())
    threads = _workers(queue, scope, min(workers, len(calls)))
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            # Callbacks run in this thread, so it wakes up at intervals.
            while not thread.ends_within(TICK):
                if listener is not None:
                    listener.poll()
    except BaseException as error:
        # Threads finish their current call and take no other.
        queue.closed = True
        scope.closed = True
        if isinstance(error, KeyboardInterrupt):
            interrupt_solves()
        for thread in threads:
            if thread.ident is not None:
                thread.ends_within(GRACE / len(threads))
        raise
    if queue.errors:
        # The error of the first call in order, not of the fastest thread.
        raise queue.errors[min(queue.errors)]
    return queue.answers  # type: ignore[return-value]  # every call has an answer or an error


def _workers(queue: _Queue[T], scope: _Scope, number: int) -> list[_Worker]:
    """Return threads that have not started, whose work belongs to a scope."""
    token = _SCOPE.set(scope)
    try:
        return [_Worker(queue.work, daemon=True) for _ in range(number)]
    finally:
        _SCOPE.reset(token)


def ended(call: Callable[[], object], interrupted: Callable[[], bool]) -> bool:
    """Run a call of a third-party library, and return whether it ended.

    After an interrupt, it has some time to end by itself. Then this function stops waiting for it,
    and the process ends after it. A library that calls back into a finished interpreter would
    abort.

    Raises:
        BaseException: the exception of the call.
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
