"""A large batch solved a chunk at a time: progress to see, and answers that outlive an interruption."""

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
    naming_alternatives,
    solve,
)

CHUNK_SECONDS = 0.5
GROWTH = 8
TICK = 0.1
"""Seconds between two calls of `progress`."""

GRACE = 1.0
"""Seconds that a search gets after Ctrl-C to say what it has."""

THREAD = "structured-vae solve"

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
"""How the names of statistics begin that add up over chunks."""


@dataclass(frozen=True, eq=False)
class Answers:
    """The solution of a whole batch, as far as there was time for it.

    Attributes:
        solution: instances that were not reached have zeros, and the sum of their positive
            coefficients as the bound.
        reached: instances that were solved, or begun.
        seconds: what it took.
        stopped: the KeyboardInterrupt or the failure of a chunk that ended it early, if one did.
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
    """The solutions of a host batch, of chunks that take about half a second each.

    Args:
        problem: numpy coefficients.
        solver: for all chunks.
        time_limit: seconds for the batch; every chunk may take what is left.
        progress: called with the number of instances done, ten times a second and after each chunk.
        heard: what a search tells, as `solvers.solve(callback=)` does, in another thread; None for
            nobody.

    Raises:
        SolverError: as `ArgmaxSolver.solve`; but a failure after the first chunk is
            `Answers.stopped`.
    """
    with naming_alternatives(problem):
        solver.check(problem, time_limit)
    begin, deadline = time.monotonic(), Deadline.after(time_limit)
    parts: list[Solution] = []
    least = cpu_count()
    # A heuristic uses its time limit up, so it gets the batch as a whole.
    at_once = time_limit is not None and not solver.capabilities.exact
    done, size = 0, problem.batch if at_once else least
    stopped: BaseException | None = None
    while done < problem.batch:
        start = time.monotonic()
        if deadline.passed:
            break
        chunk = problem.instances(slice(done, done + size))
        try:
            parts.append(
                _interruptible(
                    partial(_solved, chunk, solver, deadline.seconds, heard),
                    partial(progress, done),
                )
            )
        except SolveInterrupted as error:  # the chunk as far as it came
            parts.append(error.solution)
            done, stopped = done + chunk.batch, error
            break
        except (KeyboardInterrupt, SolveFailedError) as error:
            if not parts and isinstance(error, SolveFailedError):
                raise
            stopped = error
            break
        done += chunk.batch
        progress(done)
        wanted = int(size * CHUNK_SECONDS / max(1e-9, time.monotonic() - start))
        size = min(max(least, wanted), GROWTH * size)
    solution = _joined(problem, solver, parts, done)
    # A search counts in `reached` those that it began before its time was up.
    reached = sum(part.stats.get("reached", len(part.z)) for part in parts)
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


def _interruptible(call: Callable[[], Solution], tick: Callable[[], None]) -> Solution:
    """`call()` in a thread of its own, as compiled code cannot be interrupted in the main one.

    After a signal from the keyboard a search ends and says what it has. The thread of anything else
    is left behind; it does not keep the process alive.

    Raises:
        SolveInterrupted: what a search has found until a signal.
        KeyboardInterrupt: a signal, and nothing was found yet.
    """
    answers: list[Solution] = []
    errors: list[BaseException] = []
    # a signal in `join` marks a thread as ended that runs on, before Python 3.13
    ended = threading.Event()

    def run() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # raised again in the caller's thread
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
    """Whether a solver that was interrupted still runs."""
    return any(thread.name == THREAD for thread in threading.enumerate())


def _joined(
    problem: Problem, solver: ArgmaxSolver, parts: Sequence[Solution], done: int
) -> Solution:
    """One solution of all instances, trivial from `done` on."""
    rest = problem.instances(slice(done, None))
    bound = rest.positive_part
    trivial = (
        np.zeros((rest.batch, rest.n), np.int8),
        np.zeros(rest.batch),
        bound <= rest.rounding,
        bound,
    )
    columns = zip(*((part.z, part.score, part.optimal, part.bound) for part in parts), strict=True)
    found = list(columns) or [()] * len(trivial)
    z, score, optimal, bound = (
        problem.restore(np.concatenate([*column, last]))
        for column, last in zip(found, trivial, strict=True)
    )
    return Solution(
        z, score, optimal, bound, _joined_names(parts) or solver.name, _joined_stats(parts)
    )


def _joined_names(parts: Sequence[Solution]) -> str:
    """Every solver that answered a chunk, once."""
    return " + ".join(dict.fromkeys(name for part in parts for name in part.solver.split(" + ")))


def _joined_stats(parts: Sequence[Solution]) -> Mapping[str, Any]:
    """Counts added up, shares averaged, anything else listed where the chunks differ."""
    stats: dict[str, Any] = {}
    sizes = [len(part.z) for part in parts]
    for name in dict.fromkeys(name for part in parts for name in part.stats):
        values = [part.stats.get(name) for part in parts]
        if name.endswith("_share"):
            stats[name] = float(np.average([value or 0.0 for value in values], weights=sizes))
        elif name.startswith(COUNTS):
            stats[name] = sum(value or 0 for value in values)
        else:
            stats[name] = values[0] if all(value == values[0] for value in values) else values
    return stats
