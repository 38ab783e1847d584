"""Solve the problem of a file that has constraints, and so a single instance."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

from solvers import OptionError, Progress, Solution, SolveInterrupted, solve, solver_class
from solvers.conversions import Conversion

from .chunks import Answers, interruptible


def solve_within_constraints(
    conversion: Conversion,
    solver: str,
    time_limit: float | None,
    threads: int | None,
    heard: Callable[[Progress[Any]], object] | None,
) -> Answers:
    """Solve a problem within the constraints of its file.

    Args:
        conversion: the problem and its constraints.
        solver: a name, or "auto".
        time_limit: seconds.
        threads: number of threads, for a solver with this option; None for its default.
        heard: the callback of the search; None for no callback.

    Raises:
        SolverError: as `solvers.solve`.
        SolveInterrupted: Ctrl-C was pressed before there was a state.
    """
    chosen: Any = solver
    if threads is not None:
        if solver == "auto":
            raise OptionError(
                "--threads needs --solver where a file has constraints, for example --solver cp_sat"
            )
        chosen = solver_class(solver)().with_options(threads=threads)
    call = partial(_solved, conversion, chosen, time_limit, heard)
    begin = time.monotonic()
    stopped: BaseException | None = None
    try:
        solution = interruptible(call, lambda: None)
    except SolveInterrupted as interrupt:
        if not interrupt.found:
            raise
        solution = interrupt.solution
        stopped = interrupt
    return Answers(solution, 1, time.monotonic() - begin, stopped)


def _solved(
    conversion: Conversion,
    solver: Any,
    time_limit: float | None,
    heard: Callable[[Progress[Any]], object] | None,
) -> Solution:
    return solve(
        conversion.problem,
        solver=solver,
        time_limit=time_limit,
        constraints=conversion.with_constraints(()),
        callback=heard,
    )
