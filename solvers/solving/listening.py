"""What `solve` tells a callback while it searches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from ..arrays import Scores, States, to_numpy
from ..conversions import Conversion
from ..errors import OptionError, shortened
from ..limits.deadline import now
from ..limits.progress import Known, Listener, Part, Progress, watch, watched_by
from ..problem import Problem
from ..solution import Solution
from ..solver import ArgmaxSolver, score_states

Callback: TypeAlias = Callable[[Progress[Any]], object]
"""Gets what is known; a search ends where it returns True."""


@contextmanager
def heard_by(callback: Callback, problem: Problem, state: States | None) -> Iterator[None]:
    """Inside it, searches tell a callback what they know of a problem; what that raised comes out in the end.

    Args:
        callback: gets a `Progress`.
        problem: that is solved.
        state: `[batch, n]`, to begin with; None where none is known.

    Raises:
        OptionError: the callback cannot be called.
    """
    if not callable(callback):
        raise OptionError(f"callback must be a function of what is known; got {shortened(callback)}")
    listener = _listener(callback, problem, state)
    try:
        with watched_by(listener):
            yield
    finally:
        if listener.error is not None:
            raise listener.error


def _listener(callback: Callback, problem: Problem, state: States | None) -> Listener:
    host, begin = problem.to_host(), now()

    def score(z: States, part: slice) -> Scores:
        return score_states(host if part == slice(None) else host.instances(part), np.ascontiguousarray(z))

    def call(*known: np.ndarray) -> object:
        z, score, bound = (problem.restore(array) for array in known)
        return callback(Progress(z, score, bound, now() - begin))

    bound = to_numpy(host.positive_part)
    if state is None:
        nothing = np.full((problem.batch, problem.n), -1, np.int8)
        return Listener(problem, call, score, (nothing, np.full(problem.batch, -np.inf), bound))
    return Listener(problem, call, score, (state, score(state, slice(None)), bound))


@contextmanager
def heard_of(part: Problem | None, lift: Callable[[Known], Known]) -> Iterator[None]:
    """Inside it, what searches tell of a part is told of the problem that it helps to solve."""
    whole = watch()
    with watched_by(None if whole is None else Part(whole, part, lift)):
        yield


def in_words(conversion: Conversion, callback: Callback | None) -> Callback | None:
    """A callback that hears of a conversion in the words of the original."""
    if not callable(callback):
        return callback

    def call(progress: Progress[np.ndarray]) -> object:
        z, score, bound = (
            part.reshape(-1) for part in map(np.asarray, (progress.z, progress.score, progress.bound))
        )
        words = conversion.assignment(z) if z[0] >= 0 else {}
        values = float(conversion.value(score[0])), float(conversion.value(bound[0]))
        return callback(Progress(words, *values, progress.seconds))

    return call


def with_word(found: Solution, solver: ArgmaxSolver) -> Solution:
    """A solution that says where its solver has nothing to tell a callback."""
    if watch() is None or solver.capabilities.time_limit:
        return found
    return replace(found, stats={**found.stats, "callback": "unused"})
