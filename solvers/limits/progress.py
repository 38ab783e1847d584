"""Report results during a search, and stop it if the callback returns True.

`solve(callback=)` sets a `Watch` for its calls, in their context. Every `Deadline` made there has
the watch, ends with it, and passes on the news of searches when they check the time. The thread
that called `solve` waits for the search and calls the callback.
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
"""Minimum number of seconds between two calls of a callback."""

TOLD = 0.1
"""Minimum seconds between two reports of one search."""

StatesT = TypeVar("StatesT")


@dataclass(frozen=True, eq=False)
class Progress(Generic[StatesT]):
    """The best states and the bound of a running search, as a callback of `solve` receives them.

    Arrays are of the caller's kind, on the caller's device, with the caller's leading dimensions,
    and the callback may keep them. The score and the bound of one instance are Python floats. For a
    `Conversion` everything is in terms of the original.

    Attributes:
        z: `[..., n]`, int8, or int64 for labels: the best states so far; -1 if no state so far
            satisfies the constraints. For a `Conversion` {name: value}, empty before the first.
        score: `[...]`, float64, the scores of these states, minus infinity without a state. For a
            `Conversion` a number, its own objective. It never gets worse from one call to the next.
        bound: `[...]`, float64, upper bounds on the scores. For a `Conversion` a number, in its own
            objective. It never gets worse either.
        seconds: time since the call of `solve`, without the time for loading packages.
    """

    z: StatesT
    score: Any
    bound: Any
    seconds: float


class Known(NamedTuple):
    """The news of a search.

    Attributes:
        z: `[batch, n]`, a state of each instance; None without news.
        bound: `[batch]`; None without news.
        rows: the instances that the news are about, a slice or their numbers.
    """

    z: np.ndarray | None
    bound: np.ndarray | None = None
    rows: slice | np.ndarray = slice(None)

    @classmethod
    def of(cls, z: np.ndarray, bound: float | None = None) -> Known:
        """Build the news of a single instance from a state `[n]` and a bound."""
        bounds = None
        if bound is not None:
            bounds = np.array([bound])
        return cls(z[None], bounds)


Tell: TypeAlias = Callable[[], Known]
"""Returns the news of a search at the moment of the call."""


class Watch(ABC):
    """A listener to the news of a problem during its search.

    Attributes:
        problem: the problem that the news are about.
    """

    def __init__(self, problem: object):
        """Start without news."""
        self.problem = problem
        self._next = time.monotonic() + TOLD

    @property
    @abstractmethod
    def stopped(self) -> bool:
        """Whether searches end now."""

    @abstractmethod
    def take(self, news: Known) -> None:
        """Take news of the search."""

    @abstractmethod
    def poll(self) -> None:
        """Call the callback, if it is time and this is the thread of its caller."""

    def tell(self, news: Tell) -> None:
        """Request news, if it is time."""
        if time.monotonic() >= self._next:
            self.take(news())
            self._next = time.monotonic() + TOLD


class Listener(Watch):
    """Watch of a call of `solve`, to which all other watches pass their news.

    Attributes:
        error: the exception of the callback, if any.
    """

    def __init__(
        self,
        problem: object,
        call: Callable[[States, Scores, Scores], object],
        score: Callable[[States, slice | np.ndarray], Scores],
        start: tuple[States, Scores, Scores],
    ):
        """Start with the states, scores and bounds that `solve` begins with.

        Args:
            problem: the problem that is solved.
            call: takes states `[batch, n]`, scores `[batch]` and bounds `[batch]`; returns whether
                to stop.
            score: returns the scores `[batch]` of states `[batch, n]` of some instances.
            start: states, scores and bounds to begin with.
        """
        super().__init__(problem)
        self._call = call
        self._score = score
        self._z, self._scores, self._bounds = (array.copy() for array in start)
        self._owner = threading.get_ident()
        self._lock = threading.Lock()
        self._next_call = time.monotonic() + INTERVAL
        self._stopped = False
        self.error: BaseException | None = None

    @property
    def stopped(self) -> bool:
        """Whether the callback asked to stop, or failed."""
        return self._stopped

    def take(self, news: Known) -> None:
        """Keep the best of the news."""
        z, bound, rows = news
        with self._lock:
            if z is not None:
                scores = self._score(z, rows)
                better = scores > self._scores[rows]
                self._z[rows] = np.where(better[:, None], z, self._z[rows])
                self._scores[rows] = np.where(better, scores, self._scores[rows])
            if bound is not None:
                self._bounds[rows] = np.fmin(self._bounds[rows], bound)
        self.poll()  # for a search in the thread of its caller

    def poll(self) -> None:
        """Call the callback, if it is time and this is the thread of its caller."""
        if (
            threading.get_ident() != self._owner
            or self._stopped
            or time.monotonic() < self._next_call
        ):
            return
        with self._lock:
            now = self._z.copy(), self._scores.copy(), np.maximum(self._bounds, self._scores)
        with watched_by(None):  # solves inside the callback report no news
            try:
                self._stopped = bool(self._call(*now))
            # The caller of `solve` raises it again, once all searches have ended.
            except BaseException as error:
                self.error = error
                self._stopped = True
        self._next_call = time.monotonic() + INTERVAL


class Part(Watch):
    """Watch of a subproblem, which turns its news into news of the whole."""

    def __init__(self, whole: Watch, problem: object, lift: Callable[[Known], Known]):
        """Start without news.

        Args:
            whole: the watch of the whole problem.
            problem: the subproblem.
            lift: turns news of the subproblem into news of the whole.
        """
        super().__init__(problem)
        self._whole = whole
        self._lift = lift

    @property
    def stopped(self) -> bool:
        """Whether searches end now."""
        return self._whole.stopped

    def take(self, news: Known) -> None:
        """Pass the news on to the whole."""
        self._whole.take(self._lift(news))

    def poll(self) -> None:
        """Call the callback, if it is time and this is the thread of its caller."""
        self._whole.poll()


class Aside(Watch):
    """Watch of a search for another purpose, which reports no news and ends with the others."""

    def __init__(self, whole: Watch):
        """Start without news."""
        super().__init__(None)
        self._whole = whole

    @property
    def stopped(self) -> bool:
        """Whether searches end now."""
        return self._whole.stopped

    def take(self, news: Known) -> None:
        """Drop the news."""

    def tell(self, news: Tell) -> None:
        """Request no news."""

    def poll(self) -> None:
        """Call the callback, if it is time and this is the thread of its caller."""
        self._whole.poll()


_WATCH: ContextVar[Watch | None] = ContextVar("solvers_watch", default=None)


def watch() -> Watch | None:
    """Return the watch of the calls in this context; None without one."""
    return _WATCH.get()


@contextmanager
def watched_by(watch: Watch | None) -> Iterator[None]:
    """Add a watch to the deadlines that are made inside this context."""
    token = _WATCH.set(watch)
    try:
        yield
    finally:
        _WATCH.reset(token)
