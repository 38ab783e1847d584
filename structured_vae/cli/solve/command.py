"""The command `structured-vae solve`, which solves the problems in files one after the other."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from solvers import ArgmaxSolver, Problem, Solution, SolverError, select_solver, solver_class
from solvers.conversions import Conversion
from solvers.formats import FORMATS, MAX_BYTES
from solvers.labels import formats as label_formats
from solvers.labels.conversions import LabelConversion

from ..counts import check_count
from ..terminal import command, console_of
from .answers import answer_record, check_writable, objective_bounds, objectives, write_answers
from .chunks import Answers, left_behind, solve_in_chunks
from .live import Live
from .of_labels import check_name, label_record, label_table, read, solve_labels
from .standard_input import reading
from .within_constraints import solve_within_constraints

REFUSED = 2
"""Exit status after an error."""

INTERRUPTED = 130
"""Exit status after Ctrl-C."""

MOST_THREADS = 1024
"""Largest number of threads, as for solvers."""

SHOWN_WHOLE = 40
"""Maximum number of variables of a state that the table shows in full."""


def options() -> ArgumentParser:
    """Make the parser of the command's options."""
    parser = command(
        "solve FILE ...",
        "Solve the problems of files, plain or gzip; - is standard input. An .npz file "
        "(numpy.savez) holds unary "
        "[..., n], and optionally pairwise [..., n, n], or pairwise [..., e] with edges [e, 2]; "
        "its objective is sum_i unary_i z_i + sum_(i,j) pairwise_ij z_i z_j, maximised over z in "
        "{0,1}^n. Each other format defines its objective, which the column `value` shows. The "
        "formats of toulbar2 (.wcsp, .cfn), .col, .h5 and .dqm, and .uai with more than two "
        "values, "
        "have variables of several values. A large batch is solved in chunks. Ctrl-C stops the "
        "search; the best "
        "states so far are shown and written.",
    )
    parser.add_argument(
        "files",
        type=str,
        nargs="+",
        metavar="FILE",
        help="file with one problem or several, .npz file with a batch, or - for standard input",
    )
    extra = [name for name in label_formats.FORMATS if name not in FORMATS]
    formats = ", ".join([*FORMATS, *extra])
    parser.add_argument(
        "--format", type=str | None, help=f"{formats}; default: detected from the file"
    )
    parser.add_argument(
        "--solver",
        type=str,
        default="auto",
        help="a name from `structured-vae solvers`; for variables of several values also a name "
        "from solvers.labels",
    )
    add_max_bytes(parser)
    parser.add_argument("--time_limit", type=float | None, help="seconds for each file")
    parser.add_argument(
        "--threads",
        type=int | None,
        help="number of threads, for solvers with this option; default: the solver's default",
    )
    parser.add_argument(
        "--output",
        type=str | None,
        help="file for the answers: a table if its name ends in .csv, otherwise JSON",
    )
    return parser


def add_max_bytes(parser: ArgumentParser) -> None:
    """Add the option for the largest file."""
    parser.add_argument(
        "--max_bytes",
        type=int,
        default=MAX_BYTES,
        help="largest text after decompression, and largest arrays that a file can ask for",
    )


def run(chosen: Namespace, console: Console) -> None:
    """Solve the files; after an error or Ctrl-C, end the process with its exit status."""
    check_count("threads", chosen.threads, most=MOST_THREADS)
    check_count("max_bytes", chosen.max_bytes)
    solver = FileSolver(
        solver=chosen.solver,
        format=chosen.format,
        time_limit=chosen.time_limit,
        threads=chosen.threads,
        console=console,
        errors=console_of(stderr=True),
        max_bytes=chosen.max_bytes,
    )
    status = solver.solve(chosen.files, chosen.output)
    if status:
        leave(status)


@dataclass
class FileSolver:
    """A call of `structured-vae solve`: its options, and the results so far.

    Attributes:
        solver: a solver's name or "auto".
        format: the format of the files; None to detect it for each file.
        time_limit: seconds for each file.
        threads: number of threads, for solvers with this option; None for their default.
        console: where answers are printed.
        errors: where messages and progress are printed.
        records: the JSON records of the finished files.
        status: the exit status so far.
        max_bytes: maximum size of a text after decompression, and of what a header can ask for.
    """

    solver: str
    format: str | None
    time_limit: float | None
    threads: int | None
    console: Console
    errors: Console
    records: list[dict[str, Any]] = field(default_factory=list)
    status: int = 0
    max_bytes: int = MAX_BYTES

    def solve(self, files: Sequence[str], output: str | None) -> int:
        """Solve and report every file, write the answers, and return the exit status.

        An error in one file does not affect the others. After Ctrl-C, the best states so far are
        reported and written.

        Args:
            files: paths of the files.
            output: file for the answers; None for no file.

        Raises:
            SolverError: no solver has that name, or the answers would replace a problem.
            OSError: the answers cannot be written.
        """
        if self.solver != "auto":
            check_name(self.solver)
        if output:
            check_writable(Path(output), files)
        try:
            for file in files:
                self._solve_one(file, len(files) > 1)
                if self.status == INTERRUPTED:
                    break
        except KeyboardInterrupt:  # Ctrl-C while a file was being read
            self.errors.print("stopped")
            self.status = INTERRUPTED
        if output and any("score" in record for record in self.records):
            write_answers(Path(output), self.records)
            self.console.print(f"written: {output}")
        return self.status

    def _solve_one(self, file: str, several: bool) -> None:
        try:
            conversions = reading(
                file, lambda path: read(path, self.format, self.max_bytes), self.max_bytes
            )
        except (SolverError, OSError) as error:
            self._record_error(file, several, str(error))
            return
        for number, conversion in enumerate(conversions, 1):
            name = file
            if len(conversions) > 1:
                name = f"{file} (problem {number})"
            self._solve_problem(name, conversion, several or len(conversions) > 1)
            if self.status == INTERRUPTED:
                break

    def _solve_problem(
        self, file: str, conversion: Conversion | LabelConversion, several: bool
    ) -> None:
        try:
            if isinstance(conversion, LabelConversion):
                self._solve_labels(file, conversion, several)
                return
            answers, reason = self._answers(file, conversion)
        except (SolverError, OSError) as error:
            self._record_error(file, several, str(error))
            return
        solution = conversion.completed(answers.solution)
        # Auxiliary bits come behind those of the file.
        solution = replace(solution, z=solution.z[..., : len(conversion.names)])
        answers = replace(answers, solution=solution)
        self.records.append(answer_record(file, conversion, answers))
        title = ""
        if several:
            title = file
        self.console.print(solution_table(conversion, answers.solution, title))
        self.console.print(_summary(conversion.problem, answers, reason))
        if isinstance(answers.stopped, KeyboardInterrupt):
            self.errors.print(
                f"stopped; {file}: {answers.reached} of {conversion.problem.batch} solved"
            )
            self.status = INTERRUPTED
        elif answers.stopped:
            failure = f"after {answers.reached} of {conversion.problem.batch}: {answers.stopped}"
            self._refuse(f"{file} {failure}")
            self.records[-1]["error"] = failure

    def _answers(self, file: str, conversion: Conversion) -> tuple[Answers, str]:
        """Return the solutions of a problem of bits, and why their solver was chosen."""
        with Live(file, conversion, self.errors) as live:
            if conversion.constraints:
                answers = solve_within_constraints(
                    conversion, self.solver, self.time_limit, self.threads, live.heard
                )
                return answers, f"the file has constraints ({len(conversion.constraints)})"
            solver, reason = self._choose(conversion.problem)
            answers = solve_in_chunks(
                conversion.problem, solver, self.time_limit, live.done, live.heard
            )
        return answers, reason

    def _record_error(self, file: str, several: bool, message: str) -> None:
        """Report an error of one file."""
        self.records.append({"file": file, "error": message})
        if several and file not in message:
            message = f"{file}: {message}"
        self._refuse(message)

    def _solve_labels(self, file: str, conversion: LabelConversion, several: bool) -> None:
        answer = solve_labels(conversion, self.solver, self.time_limit, self.threads)
        record = label_record(file, conversion, answer)
        self.records.append(record)
        title = ""
        if several:
            title = file
        self.console.print(label_table(record, conversion, answer.solution, title))
        problem = conversion.problem
        proved = "not proved"
        if record["optimal"]:
            proved = "proved optimal"
        self.console.print(
            f"n = {problem.n} of up to {problem.k} values, e = {problem.e} in "
            f"{answer.seconds:.3g} s, {proved}"
        )
        if answer.reason:
            self.console.print(f"chosen because {answer.reason}")
        if answer.stopped:
            self.errors.print(f"stopped; {file}")
            self.status = INTERRUPTED

    def _choose(self, problem: Problem) -> tuple[ArgmaxSolver, str]:
        """Return the solver, and the reason for the choice of `auto`.

        Raises:
            SolverError: the named solver lacks the option `threads`, which the user has set.
        """
        if self.solver != "auto":
            options = {}
            if self.threads is not None:
                options = {"threads": self.threads}
            return solver_class(self.solver)().with_options(**options), ""
        selection = select_solver(problem)
        if self.threads is None or "threads" not in selection.solver.options():
            return selection.solver, selection.reason
        return selection.solver.with_options(threads=self.threads), selection.reason

    def _refuse(self, message: str) -> None:
        self.errors.print("error:", message, style="red")
        self.status = REFUSED


def leave(status: int) -> None:
    """End the process with this exit status, without waiting for a solver that is still running."""
    if status == INTERRUPTED and left_behind():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _summary(problem: Problem, answers: Answers, reason: str) -> str:
    proved = int(np.sum(answers.solution.optimal))
    lines = [
        f"{problem.batch} instances of n = {problem.n}, e = {problem.e} in "
        f"{answers.seconds:.3g} s, {proved} proved optimal"
    ]
    if answers.reached < problem.batch:
        lines.append(
            f"{problem.batch - answers.reached} were not reached: their states are all zeros"
        )
    if reason:
        lines.append(f"chosen because {reason}")
    return "\n".join(lines)


def solution_table(
    conversion: Conversion, solution: Solution, file: str = "", shown: int = 10
) -> Table:
    """Make a table of the first solutions of a batch.

    Args:
        conversion: the problem as its file states it.
        solution: the solution; values and bounds are converted to the objective of the file.
        file: the name of the file for the title; "" for none.
        shown: maximum number of rows.
    """
    place = ""
    if file:
        place = f"{file}, "
    table = Table(title=f"{place}solver {solution.solver}")
    z = solution.z.reshape(math.prod(solution.z.shape[:-1]), solution.z.shape[-1])
    in_full = z.shape[-1] <= SHOWN_WHOLE
    states = "ones"
    if in_full:
        states = "z"
    for column in ("instance", "value", "optimal", "bound", states):
        table.add_column(column, justify="right", overflow="fold")
    values = objectives(conversion, solution).reshape(-1)
    bounds = objective_bounds(conversion, solution).reshape(-1)
    optimal = np.ravel(solution.optimal)
    for number in range(min(len(z), shown)):
        proved = "no"
        if optimal[number]:
            proved = "yes"
        table.add_row(
            str(number),
            f"{values[number]:.10g}",
            proved,
            f"{bounds[number]:.10g}",
            _state_text(z[number], in_full),
        )
    notes = []
    if len(z) > shown:
        notes.append(f"{len(z) - shown} more")
    if not in_full:
        notes.append("use --output FILE to write the states")
    table.caption = "; ".join(notes) or None
    return table


def _state_text(state: np.ndarray, in_full: bool) -> str:
    """Return the bits of a state, or the number of its ones if it is too long."""
    if in_full:
        return "".join(map(str, state.tolist()))
    return f"{int(state.sum())} of {len(state)}"
