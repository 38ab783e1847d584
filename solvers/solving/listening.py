"""Report the progress of a search to the callback of `solve`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..arrays import Scores, States, as_number, to_numpy
from ..errors import OptionError, shortened
from ..limits.deadline import now
from ..limits.progress import Known, Listener, Part, Progress, watch, watched_by
from ..solution import Solution
from ..solver import CertifiedSolver, Maximisable
from .kinds import kind_of

Callback: TypeAlias = Callable[[Progress[Any]], object]
"""A function that receives the progress; the search ends if it returns True."""


class Wording(Protocol):
    """Translation of states and scores into the names and values of an original: a conversion."""

    def assignment(self, labels: Any, /) -> dict[Hashable, Any]:
        """Return the value of each variable of the original, by its name."""

    def value(self, score: Any, /) -> Any:
        """Return the original objective that belongs to a score."""

    def objective(self, labels: Any, /) -> float:
        """Return the original objective of states."""

    def objective_bound(self, labels: Any, bound: float, /) -> float:
        """Return a bound on the original objective, from a bound on scores."""


@contextmanager
def report_to(callback: Callback, problem: Any, states: States | None) -> Iterator[None]:
    """Report the progress of searches to a callback inside a `with` block.

    An exception that the callback raised is raised again at the end of the block.

    Args:
        callback: receives a `Progress`.
        problem: the problem that is solved, of any kind.
        states: `[batch, n]`, states that are available before the search; None if there are none.

    Raises:
        OptionError: the callback cannot be called.
    """
    if not callable(callback):
        raise OptionError(f"callback must be a function of a Progress; got {shortened(callback)}")
    host = problem.to_host()
    kind = kind_of(problem)
    started = now()

    def score(z: States, rows: slice | np.ndarray) -> Scores:
        instances = host
        if not isinstance(rows, slice) or rows != slice(None):
            instances = host.instances(rows)
        return kind.score(instances, np.ascontiguousarray(z))

    def call(*arrays: np.ndarray) -> object:
        z, scores, bounds = (problem.restore(array) for array in arrays)
        return callback(Progress(z, as_number(scores), as_number(bounds), now() - started))

    if states is None:
        states = np.full((problem.batch, problem.n), -1, kind.state_type)
        scores = np.full(problem.batch, -np.inf)
    else:
        scores = score(states, slice(None))
    first = (states, scores, to_numpy(host.trivial_bound))
    listener = Listener(problem, call, score, first)
    try:
        with watched_by(listener):
            yield
    finally:
        if listener.error is not None:
            raise listener.error


@contextmanager
def report_for_whole(
    subproblem: Maximisable | None, lift: Callable[[Known], Known]
) -> Iterator[None]:
    """Pass on the progress of searches of a subproblem as progress of the whole problem."""
    whole = watch()
    listener = None
    if whole is not None:
        listener = Part(whole, subproblem, lift)
    with watched_by(listener):
        yield


def in_original_terms(conversion: Wording, callback: Callback | None) -> Callback | None:
    """Return a callback that receives the names and values of a conversion's original."""
    if not callable(callback):
        return callback

    def call(progress: Progress[np.ndarray]) -> object:
        z = np.asarray(progress.z).reshape(-1)
        score = float(np.asarray(progress.score).item())
        bound = float(np.asarray(progress.bound).item())
        if z[0] < 0:  # no state was found so far
            assignment = {}
            value = float(conversion.value(score))
            limit = float(conversion.value(bound))
        else:
            assignment = conversion.assignment(z)
            value = conversion.objective(z)
            limit = conversion.objective_bound(z, bound)
        return callback(Progress(assignment, value, limit, progress.seconds))

    return call


def with_callback_note(solution: Solution, solver: CertifiedSolver[Any]) -> Solution:
    """Return the solution, and record in its `stats` if its solver reports no progress."""
    if watch() is None or solver.capabilities.time_limit:
        return solution
    return replace(solution, stats={**solution.stats, "callback": "unused"})
