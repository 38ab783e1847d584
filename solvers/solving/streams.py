"""Solve a stream of problems over cores, or over a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from joblib import Parallel, delayed

from ..arrays import ArrayT
from ..errors import OptionError, ProblemError, shortened
from ..options import check_whole
from ..problems.any_problem import AnyProblem
from ..solution import Solution
from ..solver import CertifiedSolver
from .call import solve
from .kinds import check_any_problem

AnswerT = TypeVar("AnswerT")

WINDOW = 256
"""Number of problems in progress; if a worker dies, at most this many are solved again."""


@dataclass(frozen=True)
class Failure:
    """Error in place of a solution, for a problem that `solve_many` cannot solve.

    Attributes:
        index: its place in the stream, from 0.
        error: the exception, or what happened to the worker.
    """

    index: int
    error: Exception


def solve_many(
    problems: Iterable[AnyProblem[ArrayT]],
    *,
    solver: str | CertifiedSolver[Any] = "auto",
    time_limit: float | None = None,
    jobs: int = -1,
) -> Iterator[Solution[ArrayT] | Failure]:
    """Solve a stream of problems, and yield the solutions in the order of the stream.

    By default it runs in threads, since the compiled backends release the interpreter's lock.
    Inside `joblib.parallel_config(backend="loky")` it runs in processes, and with `backend="dask"`
    or `backend="ray"` on a cluster.

    A problem that cannot be solved, or whose worker dies, gives a `Failure` in its place, and the
    stream continues. If the stream itself raises, the solutions of its earlier problems come first.

    Args:
        problems: problems of either kind, read when they are needed, `WINDOW` at a time.
        solver: a name, "auto" (chosen for each problem) or a solver object.
        time_limit: seconds for each problem.
        jobs: problems at once, at most `WINDOW`; -1 for one on each core.

    Raises:
        ProblemError: `problems` is not iterable.
        OptionError: `jobs` is not such a number.

    Example:
        >>> from solvers import Problem
        >>> stream = (Problem.from_arrays([x, -x]) for x in (1.0, -2.0))
        >>> [answer.score for answer in solve_many(stream)]
        [1.0, 2.0]
    """
    try:
        numbered = enumerate(problems)
    except TypeError as error:
        raise ProblemError(
            f"problems must be an iterable of problems; got {shortened(problems)}"
        ) from error
    check_whole("jobs", jobs, -1, WINDOW)
    if jobs == 0:
        raise OptionError("jobs must be -1, for one on each core, or at least 1; got 0")
    answer = partial(_solution, solver=solver, time_limit=time_limit)
    for window in _windows(numbered):
        yield from _answered(window, answer, jobs)


def _solution(
    problem: AnyProblem[ArrayT], solver: str | CertifiedSolver[Any], time_limit: float | None
) -> Solution[ArrayT]:
    check_any_problem(problem)
    return solve(problem, solver=solver, time_limit=time_limit)


def _windows(numbered: Iterable[tuple[int, Any]]) -> Iterator[list[tuple[int, Any]]]:
    """Yield numbered problems in windows of up to `WINDOW`.

    An error of the stream is raised after the problems before it were yielded.
    """
    window: list[tuple[int, Any]] = []
    try:
        for problem in numbered:
            window.append(problem)
            if len(window) == WINDOW:
                yield window
                window = []
    except Exception:
        # The problems before the error are solved first.
        yield window
        raise
    yield window


def _answered(
    window: list[tuple[int, Any]], answer: Callable[[Any], AnswerT], jobs: int
) -> Iterator[AnswerT | Failure]:
    calls = [delayed(_attempt)(answer, index, problem) for index, problem in window]
    done = 0
    try:
        with closing(
            Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(calls)
        ) as answers:
            for outcome in answers:
                yield outcome
                done += 1
    except BrokenProcessPool:
        # It is unknown which problem killed its worker, so each remaining one gets a fresh process.
        for (index, _), call in zip(window[done:], calls[done:], strict=True):
            yield _alone(index, call)


def _alone(index: int, call: object) -> Any:
    try:
        # There are two jobs, since joblib runs a single one in this process.
        answers: list[Any] = Parallel(n_jobs=2, backend="loky")([call])
    except BrokenProcessPool as error:
        return Failure(index, error)
    return answers[0]


def _attempt(answer: Callable[[Any], AnswerT], index: int, problem: Any) -> AnswerT | Failure:
    try:
        return answer(problem)
    except Exception as error:  # the stream must survive every error of one problem
        return Failure(index, error)
