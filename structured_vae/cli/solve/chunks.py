"""Solve a large batch in chunks, to show progress and to keep the answers after an interruption."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from joblib import cpu_count

from solvers import (
    ArgmaxSolver,
    Deadline,
    Problem,
    Progress,
    Solution,
    SolveFailedError,
    SolveInterrupted,
    interrupt_solves,
    solve,
)
from solvers.solving.selection import naming_alternatives

CHUNK_SECONDS = 0.5
"""Time that a chunk should take."""

GROWTH = 8
"""Maximum ratio of the sizes of two consecutive chunks."""

TICK = 0.1
"""Seconds between two calls of `progress`."""

GRACE = 1.0
"""Seconds that a search has after Ctrl-C to return its incumbents."""

THREAD = "structured-vae solve"
"""The name of the threads that solve chunks."""

COUNTS = (
    "reached",
    "fixed",
    "flipped",
    "parts",
    "searched",
    "removed_",
    "turns_",
    "bounds_",
    "states_",
)
"""Prefixes of the statistics that are summed over chunks."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The solution of a whole batch, as far as the time allowed.

    Attributes:
        solution: the solution; instances that were not reached have all zeros, and the sum of their
            positive coefficients as the bound.
        reached: the number of instances whose search was started or finished.
        seconds: wall-clock time.
        stopped: the KeyboardInterrupt or the error of a chunk that ended the work early; None if
            nothing did.
    """

    solution: Solution
    reached: int
    seconds: float
    stopped: BaseException | None


def solve_in_chunks(
    problem: Problem,
    solver: ArgmaxSolver,
    time_limit: float | None,
    progress: Callable[[int], None] = lambda done: None,
    heard: Callable[[Progress[Any]], object] | None = None,
) -> Answers:
    """Solve a batch in host memory, in chunks that take about half a second each.

    Args:
        problem: NumPy coefficients.
        solver: the solver for all chunks.
        time_limit: seconds for the batch; each chunk may use all the remaining time.
        progress: called with the number of finished instances, ten times a second and after each
            chunk.
        heard: the callback of the searches, as in `solvers.solve(callback=)`, called in another
            thread; None for no callback.

    Raises:
        SolverError: as `ArgmaxSolver.solve`; but a failure after the first chunk is stored in
            `Answers.stopped`.
    """
    with naming_alternatives(problem):
        solver.check(problem, time_limit)
    begin = time.monotonic()
    deadline = Deadline.after(time_limit)
    solutions: list[Solution] = []
    done = 0
    smallest = cpu_count()
    size = smallest
    # A heuristic uses all of its time limit, so it gets the whole batch in one chunk.
    if time_limit is not None and not solver.capabilities.exact:
        size = problem.batch
    stopped: BaseException | None = None
    while done < problem.batch:
        start = time.monotonic()
        if deadline.passed:
            break
        chunk = problem.instances(slice(done, done + size))
        call = partial(_solved, chunk, solver, deadline.seconds, heard)
        try:
            solutions.append(interruptible(call, partial(progress, done)))
        except SolveInterrupted as error:  # it has the incumbents of the chunk
            solutions.append(error.solution)
            done += chunk.batch
            stopped = error
            break
        except (KeyboardInterrupt, SolveFailedError) as error:
            if not solutions and isinstance(error, SolveFailedError):
                raise
            stopped = error
            break
        done += chunk.batch
        progress(done)
        wanted = int(size * CHUNK_SECONDS / max(1e-9, time.monotonic() - start))
        size = min(max(smallest, wanted), GROWTH * size)
    # A search counts in `reached` the instances that it started before its time was up.
    reached = sum(solution.stats.get("reached", len(solution.z)) for solution in solutions)
    solution = _joined(problem, solver, solutions, done)
    return Answers(solution, reached, time.monotonic() - begin, stopped)


def _solved(
    chunk: Problem,
    solver: ArgmaxSolver,
    time_limit: float | None,
    heard: Callable[[Progress[Any]], object] | None,
) -> Solution:
    if heard is None or not solver.capabilities.time_limit:
        return solver.solve(chunk, time_limit)
    return solve(chunk, solver=solver, time_limit=time_limit, callback=heard)


def interruptible(call: Callable[[], Solution], tick: Callable[[], None]) -> Solution:
    """Run `call()` in another thread, since compiled code in the main thread blocks Ctrl-C.

    After Ctrl-C a search stops and returns its incumbents. The thread of any other solver is left
    running; it does not keep the process alive.

    Args:
        call: solves a chunk.
        tick: called ten times a second while it runs.

    Raises:
        SolveInterrupted: Ctrl-C was pressed; the error has the incumbents of the search.
        KeyboardInterrupt: Ctrl-C was pressed before there was an incumbent.
    """
    answers: list[Solution] = []
    errors: list[BaseException] = []
    # Before Python 3.13, a signal during `join` marks a running thread as ended; so use an event.
    ended = threading.Event()

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # it is raised again in the caller's thread
            errors.append(error)
        ended.set()

    thread = threading.Thread(target=run, name=THREAD, daemon=True)
    thread.start()
    try:
        while not ended.wait(TICK):
            tick()
    except KeyboardInterrupt:
        interrupt_solves()
        if ended.wait(GRACE):
            thread.join()
        if not (errors and isinstance(errors[0], SolveInterrupted)):
            raise
    if errors:
        raise errors[0]
    return answers[0]


def left_behind() -> bool:
    """Return True if a solver that was interrupted is still running."""
    return any(thread.name == THREAD for thread in threading.enumerate())


def _joined(
    problem: Problem, solver: ArgmaxSolver, solutions: Sequence[Solution], done: int
) -> Solution:
    """Join the solutions of the chunks; instances from `done` on get all zeros."""
    rest = problem.instances(slice(done, None))
    trivial = Solution(
        z=np.zeros((rest.batch, rest.n), np.int8),
        score=np.zeros(rest.batch),
        optimal=rest.positive_part <= rest.rounding,
        bound=rest.positive_part,
        solver=solver.name,
        stats={},
    )
    pieces = [*solutions, trivial]
    return Solution(
        z=problem.restore(np.concatenate([piece.z for piece in pieces])),
        score=problem.restore(np.concatenate([piece.score for piece in pieces])),
        optimal=problem.restore(np.concatenate([piece.optimal for piece in pieces])),
        bound=problem.restore(np.concatenate([piece.bound for piece in pieces])),
        solver=_joined_names(solutions) or solver.name,
        stats=_joined_stats(solutions),
    )


def _joined_names(solutions: Sequence[Solution]) -> str:
    """Return the names of all solvers that solved a chunk, each once."""
    names = [name for solution in solutions for name in solution.solver.split(" + ")]
    return " + ".join(dict.fromkeys(names))


def _joined_stats(solutions: Sequence[Solution]) -> Mapping[str, Any]:
    """Sum the counts, average the shares, and list other statistics if the chunks differ."""
    stats: dict[str, Any] = {}
    sizes = [len(solution.z) for solution in solutions]
    for name in dict.fromkeys(name for solution in solutions for name in solution.stats):
        values = [solution.stats.get(name) for solution in solutions]
        stats[name] = _joined_statistic(name, values, sizes)
    return stats


def _joined_statistic(name: str, values: list[Any], sizes: list[int]) -> Any:
    """Return the statistic of all chunks, from the values and sizes of the chunks."""
    if name.endswith("_share"):
        return float(np.average([value or 0.0 for value in values], weights=sizes))
    if name.startswith(COUNTS):
        return sum(value or 0 for value in values)
    if all(value == values[0] for value in values):
        return values[0]
    return values
