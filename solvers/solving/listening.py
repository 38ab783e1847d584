"""Report the progress of a search to the callback of `solve`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager
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


def report_to(
    callback: Callback, problem: Any, state: States | None
) -> AbstractContextManager[None]:
    """Report the progress of searches to a callback inside a `with` block.

    An exception that the callback raised is raised again at the end of the block.

    Args:
        callback: gets a `Progress`.
        problem: that is solved, of any kind.
        state: `[batch, n]`, to begin with; None where none is known.

    Raises:
        OptionError: the callback cannot be called.
    """
    host = problem.to_host()
    kind = kind_of(problem)

    def score(z: States, rows: slice | np.ndarray) -> Scores:
        instances = host
        if not isinstance(rows, slice) or rows != slice(None):
            instances = host.instances(rows)
        return kind.score(instances, np.ascontiguousarray(z))

    bound = to_numpy(host.trivial_bound)
    if state is None:
        nothing = np.full((problem.batch, problem.n), -1, kind.state_type)
        return _report_from(
            callback, problem, score, (nothing, np.full(problem.batch, -np.inf), bound)
        )
    return _report_from(callback, problem, score, (state, score(state, slice(None)), bound))


@contextmanager
def _report_from(
    callback: Callback,
    problem: Maximisable,
    score: Callable[[States, slice | np.ndarray], Scores],
    begun: tuple[States, Scores, Scores],
) -> Iterator[None]:
    """Report progress to a callback inside a `with` block, from the scores of states.

    Args:
        callback: gets a `Progress`.
        problem: that is solved.
        score: of states of some of the instances.
        begun: states `[batch, n]`, scores and bounds `[batch]` to begin with.

    Raises:
        OptionError: the callback cannot be called.
    """
    if not callable(callback):
        raise OptionError(f"callback must be a function of a Progress; got {shortened(callback)}")
    begin = now()

    def call(*arrays: np.ndarray) -> object:
        z, scores, bounds = (problem.restore(array) for array in arrays)
        return callback(Progress(z, as_number(scores), as_number(bounds), now() - begin))

    listener = Listener(problem, call, score, begun)
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
        z, score, bound = (
            array.reshape(-1)
            for array in map(np.asarray, (progress.z, progress.score, progress.bound))
        )
        if z[0] < 0:  # no state is found so far
            values = float(conversion.value(score[0])), float(conversion.value(bound[0]))
            return callback(Progress({}, *values, progress.seconds))
        limit = conversion.objective_bound(z, float(bound[0]))
        return callback(
            Progress(conversion.assignment(z), conversion.objective(z), limit, progress.seconds)
        )

    return call


def with_callback_note(solution: Solution, solver: CertifiedSolver[Any]) -> Solution:
    """Return the solution, and record in its `stats` if its solver reports no progress."""
    if watch() is None or solver.capabilities.time_limit:
        return solution
    return replace(solution, stats={**solution.stats, "callback": "unused"})
