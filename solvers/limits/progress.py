"""What is known while a search goes on, for who wants to hear of it, and their word that it is enough.

`solve(callback=)` sets a `Watch` for the calls that it makes, in their context; every `Deadline`
that is made there has it, ends with it, and passes on what searches tell where they look at the
clock. The thread that called `solve` waits for the search and calls the callback.
"""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np

Scores: TypeAlias = np.ndarray
States: TypeAlias = np.ndarray

INTERVAL = 0.2
"""Seconds between two calls of a callback, at least."""

TOLD = 0.1
"""Seconds between two looks at what one search knows."""

StatesT = TypeVar("StatesT")


@dataclass(frozen=True, eq=False)
class Progress(Generic[StatesT]):
    """What a search knows until now; `solve(callback=)` passes it on.

    Arrays are of the caller's kind, on the caller's device, with the caller's leading dimensions,
    and the callback's to keep. Of a `Conversion` all is in the words of the original.

    Attributes:
        z: `[..., n]`, int8, or int64 of labels: the best states so far; -1 where none is known yet
            that satisfies the constraints. Of a `Conversion` {name: value}, empty where none is
            known.
        score: `[...]`, float64, of these states, minus infinity where none is known. Of a
            `Conversion` a number, its own objective. It never gets worse from one call to the next.
        bound: `[...]`, float64: no state scores more. Of a `Conversion` a number, in its own
            objective. It never gets worse either.
        seconds: since the call of `solve`, without those in which kernels were compiled or packages
            loaded.
    """

    z: StatesT
    score: Any
    bound: Any
    seconds: float


class Known(NamedTuple):
    """What a search tells.

    Attributes:
        z: `[batch, n]`, a state of each instance; None where there is none to tell.
        bound: `[batch]`; None for none.
        part: which instances these are.
    """

    z: np.ndarray | None
    bound: np.ndarray | None = None
    part: slice = slice(None)

    @classmethod
    def of(cls, z: np.ndarray, bound: float | None = None) -> Known:
        """Of a single instance: a state `[n]`, and a bound."""
        return cls(z[None], None if bound is None else np.array([bound]))


Tell: TypeAlias = Callable[[], Known]
"""What is known at the moment of the call."""


class Watch(ABC):
    """Who hears what is known of a problem while it is searched.

    Attributes:
        problem: the one of which it is.
    """

    def __init__(self, problem: object):
        """Hears nothing yet."""
        self.problem = problem
        self._next = time.monotonic() + TOLD

    @property
    @abstractmethod
    def stopped(self) -> bool:
        """Whether searches end now."""

    @abstractmethod
    def take(self, known: Known) -> None:
        """Takes what is known."""

    @abstractmethod
    def poll(self) -> None:
        """Calls the callback, if it is time and this is the thread of its caller."""

    def tell(self, known: Tell) -> None:
        """Asks what is known, if it is time."""
        if time.monotonic() >= self._next:
            self.take(known())
            self._next = time.monotonic() + TOLD


class Listener(Watch):
    """The watch of a call of `solve`, from which all others come.

    Attributes:
        error: what the callback raised.
    """

    def __init__(
        self,
        problem: object,
        call: Callable[[States, Scores, Scores], object],
        score: Callable[[States, slice], Scores],
        known: tuple[States, Scores, Scores],
    ):
        """Hears nothing yet.

        Args:
            problem: what is solved.
            call: gets states `[batch, n]`, scores `[batch]` and bounds `[batch]`; returns whether
                to stop.
            score: `[batch]`, of states `[batch, n]` of these instances.
            known: states, scores and bounds to begin with.
        """
        super().__init__(problem)
        self._call, self._score = call, score
        self._z, self._scores, self._bounds = (array.copy() for array in known)
        self._owner, self._lock = threading.get_ident(), threading.Lock()
        self._next_call, self._stopped = time.monotonic() + INTERVAL, False
        self.error: BaseException | None = None

    @property
    def stopped(self) -> bool:
        """Whether the callback said so, or failed."""
        return self._stopped

    def take(self, known: Known) -> None:
        """Keeps the best of it."""
        z, bound, part = known
        with self._lock:
            if z is not None:
                scores = self._score(z, part)
                better = scores > self._scores[part]
                self._z[part] = np.where(better[:, None], z, self._z[part])
                self._scores[part] = np.where(better, scores, self._scores[part])
            if bound is not None:
                self._bounds[part] = np.fmin(self._bounds[part], bound)
        self.poll()  # for a search in the thread of its caller

    def poll(self) -> None:
        """Calls the callback, if it is time and this is the thread of its caller."""
        if (
            threading.get_ident() != self._owner
            or self._stopped
            or time.monotonic() < self._next_call
        ):
            return
        with self._lock:
            now = self._z.copy(), self._scores.copy(), np.maximum(self._bounds, self._scores)
        with watched_by(None):  # what a callback solves by itself is not what it hears of
            try:
                self._stopped = bool(self._call(*now))
            # raised again by who set the watch, once all searches have ended
            except BaseException as error:
                self.error, self._stopped = error, True
        self._next_call = time.monotonic() + INTERVAL


class Part(Watch):
    """The watch of a problem that another one is solved by: tells that one's, in its terms."""

    def __init__(self, whole: Watch, problem: object, lift: Callable[[Known], Known]):
        """Hears nothing yet.

        Args:
            whole: whose problem it helps to solve.
            problem: the part.
            lift: what is known of the whole, by what is known of the part.
        """
        super().__init__(problem)
        self._whole, self._lift = whole, lift

    @property
    def stopped(self) -> bool:
        """Whether searches end now."""
        return self._whole.stopped

    def take(self, known: Known) -> None:
        """Says it of the whole."""
        self._whole.take(self._lift(known))

    def poll(self) -> None:
        """Calls the callback, if it is time and this is the thread of its caller."""
        self._whole.poll()


class Aside(Watch):
    """The watch of a search for something else: nobody hears of it, and it ends with the others."""

    def __init__(self, whole: Watch):
        """Hears nothing at all."""
        super().__init__(None)
        self._whole = whole

    @property
    def stopped(self) -> bool:
        """Whether searches end now."""
        return self._whole.stopped

    def take(self, known: Known) -> None:
        """Keeps it to itself."""

    def tell(self, known: Tell) -> None:
        """Asks nothing."""

    def poll(self) -> None:
        """Calls the callback, if it is time and this is the thread of its caller."""
        self._whole.poll()


_WATCH: ContextVar[Watch | None] = ContextVar("solvers_watch", default=None)


def watch() -> Watch | None:
    """That of the calls in this context; None for none."""
    return _WATCH.get()


@contextmanager
def watched_by(watch: Watch | None) -> Iterator[None]:
    """Inside it, deadlines are made with that watch."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)
