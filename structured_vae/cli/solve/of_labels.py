"""Files whose variables have more than two values."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from solvers import (
    ArgmaxSolver,
    OptionError,
    Solution,
    SolveInterrupted,
    UnknownSolverError,
    labels,
    select_solver,
    solver_class,
)
from solvers.conversions import Conversion
from solvers.formats import FORMATS, MAX_BYTES, ProblemFileError, read_problems
from solvers.labels import LabelSolver
from solvers.labels import formats as label_formats
from solvers.labels.call import solver_class as label_solver_class
from solvers.labels.conversions import LabelConversion

from .answers import plain_stats

SHOWN = 10
"""Maximum number of variables whose values the table shows."""


@dataclass(frozen=True, eq=False)
class LabelAnswer:
    """The solution of a file of labels.

    Attributes:
        solution: the solution of its one instance.
        seconds: wall-clock time.
        reason: why `auto` chose this solver; "" if the user named it.
        stopped: whether Ctrl-C ended the search.
    """

    solution: Solution
    seconds: float
    reason: str
    stopped: bool


def read(
    file: str, format: str | None, max_bytes: int = MAX_BYTES
) -> tuple[Conversion | LabelConversion, ...]:
    """Read the problems of a file: as bits if a format of bits can read it, otherwise as labels.

    Raises:
        ProblemFileError: no format can read the file.
        OptionError: no format has that name.
        OSError: the file cannot be read.
    """
    of_labels = label_formats.FORMATS
    if format in of_labels and format not in FORMATS:
        return (label_formats.read_problem(file, format, max_bytes=max_bytes),)
    try:
        return read_problems(file, format, max_bytes=max_bytes)
    except OptionError as error:
        names = ", ".join(name for name in of_labels if name not in FORMATS)
        raise OptionError(f"{error}\nand for variables of several values: {names}") from None
    except ProblemFileError:
        if format not in (None, *of_labels):
            raise
        try:
            return (label_formats.read_problem(file, format, max_bytes=max_bytes),)
        except ProblemFileError as label_error:
            if _is_named_for_labels(file):
                raise label_error from None
        raise


def _is_named_for_labels(file: str) -> bool:
    """Return whether a file's name says that it holds labels, so that their error helps more."""
    kinds = label_formats.FORMATS.values()
    suffixes = tuple(suffix for kind in kinds for suffix in kind.suffixes)
    return file.removesuffix(".gz").endswith(suffixes)


def check_name(solver: str) -> None:
    """Raise an UnknownSolverError if no solver of bits or of labels has this name.

    Its message has the suggestions for both, since the files are not read yet.
    """
    try:
        solver_class(solver)
    except UnknownSolverError as of_bits:
        try:
            label_solver_class(solver)
        except UnknownSolverError as of_labels:
            both = f"{of_bits}. And for variables of several values, {of_labels}"
            raise UnknownSolverError(both) from None


def solve_labels(
    conversion: LabelConversion, solver: str, time_limit: float | None, threads: int | None
) -> LabelAnswer:
    """Solve a problem of labels with the solver of that name, or with the one `auto` chooses.

    Raises:
        SolverError: as `solvers.labels.solve`.
    """
    chosen: str | LabelSolver | ArgmaxSolver = solver
    reason = ""
    if conversion.constraints:
        reason = f"the file has constraints ({len(conversion.constraints)})"
    elif solver == "auto":
        selection = select_solver(conversion.problem)
        chosen = selection.solver
        reason = selection.reason
        if threads is not None and "threads" in selection.solver.options():
            chosen = selection.solver.with_options(threads=threads)
    elif threads is not None:
        chosen = _with_threads(solver, threads)
    begin = time.monotonic()
    stopped = False
    try:
        solution = labels.solve(
            conversion.problem,
            solver=chosen,
            time_limit=time_limit,
            constraints=conversion.with_constraints(()),
        )
    except SolveInterrupted as interrupt:
        solution = interrupt.solution
        stopped = True
    return LabelAnswer(solution, time.monotonic() - begin, reason, stopped)


def _with_threads(name: str, threads: int) -> LabelSolver | ArgmaxSolver:
    """Return the solver of labels of that name, or else that of their bits."""
    try:
        return label_solver_class(name)().with_options(threads=threads)
    except UnknownSolverError:
        return solver_class(name)().with_options(threads=threads)


def label_record(file: str, conversion: LabelConversion, answer: LabelAnswer) -> dict[str, Any]:
    """Make the JSON record of a file: labels, value, score, certificate, bound, solver and time."""
    solution = answer.solution
    return {
        "file": file,
        "solver": solution.solver,
        "seconds": answer.seconds,
        "labels": solution.labels.tolist()[: len(conversion.names)],
        "variables": [str(name) for name in conversion.names],
        "assignment": {
            str(name): str(value) for name, value in conversion.assignment(solution.labels).items()
        },
        "value": conversion.objective(solution.labels),
        "score": float(solution.score),
        "optimal": bool(solution.optimal),
        "bound": float(solution.bound),
        "stats": plain_stats(solution.stats),
    }


def label_table(
    record: dict[str, Any], conversion: LabelConversion, solution: Solution, file: str = ""
) -> Table:
    """Make a table of value, certificate, bound and the first labels, named as in the file."""
    limit = conversion.objective_bound(solution.labels, float(solution.bound))
    place = ""
    if file:
        place = f"{file}, "
    table = Table(title=f"{place}solver {record['solver']}")
    for column in ("value", "optimal", "bound"):
        table.add_column(column, justify="right")
    table.add_column("values")
    optimal = "no"
    if record["optimal"]:
        optimal = "yes"
    values = list(record["assignment"].values())
    shown = " ".join(values[:SHOWN])
    if len(values) > SHOWN:
        shown += f" and {len(values) - SHOWN} more"
    table.add_row(f"{record['value']:.10g}", optimal, f"{limit:.10g}", shown)
    return table
