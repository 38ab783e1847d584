"""Files whose variables have several values."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from solvers import (
    OptionError,
    Solution,
    SolveInterrupted,
    UnknownSolverError,
    labels,
    solver_class,
)
from solvers.conversions import Conversion
from solvers.formats import FORMATS, ProblemFileError, read_problem
from solvers.labels import LabelConversion, LabelSolver
from solvers.labels import formats as label_formats

from .answers import plain_stats

SHOWN = 10
"""Variables of which the table has the values."""


@dataclass(frozen=True, eq=False)
class LabelAnswer:
    """What was found of a file.

    Attributes:
        solution: of one instance.
        seconds: what it took.
        reason: why `auto` took its solver; empty for a named one.
        stopped: whether Ctrl-C ended the search.
    """

    solution: Solution
    seconds: float
    reason: str
    stopped: bool


def read(file: str, format: str | None) -> Conversion | LabelConversion:
    """The problem of a file: of bits where a format of bits has it, else of labels.

    Raises:
        ProblemFileError: no format fits.
        OptionError: no format has that name.
        OSError: the file may not be read.
    """
    of_labels = label_formats.FORMATS
    if format in of_labels and format not in FORMATS:
        return label_formats.read_problem(file, format)
    try:
        return read_problem(file, format)
    except OptionError as error:
        names = ", ".join(name for name in of_labels if name not in FORMATS)
        raise OptionError(f"{error}\nand of several values: {names}") from None
    except ProblemFileError:
        if format not in (None, *of_labels):
            raise
        try:
            return label_formats.read_problem(file, format)
        except ProblemFileError as of_several:
            if any(file.removesuffix(".gz").endswith(each.suffixes) for each in of_labels.values()):
                raise of_several from None
        raise


def check_name(solver: str) -> None:
    """Raises an UnknownSolverError where a name is that of no solver of either kind."""
    try:
        solver_class(solver)
    except UnknownSolverError:
        if solver not in {info.name for info in labels.available_solvers()}:
            raise


def solve_labels(
    conversion: LabelConversion, solver: str, time_limit: float | None, threads: int | None
) -> LabelAnswer:
    """The answer of the solver of that name, or of the one that `auto` takes.

    Raises:
        SolverError: as `solvers.labels.solve`.
    """
    chosen: str | LabelSolver = solver
    reason = ""
    if solver == "auto":
        selection = labels.select_solver(conversion.problem)
        chosen, reason = selection.solver, selection.reason
        if threads is not None and "threads" in selection.solver.options():
            chosen = selection.solver.with_options(threads=threads)
    elif threads is not None:
        chosen = labels.solver_class(solver)().with_options(threads=threads)
    begin, stopped = time.monotonic(), False
    try:
        solution = labels.solve(conversion.problem, solver=chosen, time_limit=time_limit)
    except SolveInterrupted as interrupt:
        solution, stopped = interrupt.solution, True
    return LabelAnswer(solution, time.monotonic() - begin, reason, stopped)


def label_record(file: str, conversion: LabelConversion, answer: LabelAnswer) -> dict[str, Any]:
    """Labels, score, certificate, bound, solver and time, and the objective of the file's format."""
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
    """Value, bound and the first few values, in the words of the file."""
    limit = conversion.objective_bound(solution.labels, float(solution.bound))
    place = f"{file}, " if file else ""
    table = Table(title=f"{place}solver {record['solver']}")
    for column in ("value", "optimal", "bound", "values"):
        table.add_column(column, justify="left" if column == "values" else "right")
    values = list(record["assignment"].values())
    more = f" and {len(values) - SHOWN} more" if len(values) > SHOWN else ""
    table.add_row(
        f"{record['value']:.10g}",
        "yes" if record["optimal"] else "no",
        f"{limit:.10g}",
        f"{' '.join(values[:SHOWN])}{more}",
    )
    return table
