"""`structured-vae solve`: problems in files, one file after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from solvers import ArgmaxSolver, Problem, Solution, SolverError, select_solver, solver_class
from solvers.conversions import Conversion
from solvers.formats import FORMATS
from solvers.labels import LabelConversion
from solvers.labels import formats as label_formats

from ..terminal import command, console_of
from .answers import answer_record, check_writable, objective_bounds, objectives, write_answers
from .chunks import Answers, left_behind, solve_in_chunks
from .live import Live
from .of_labels import check_name, label_record, label_table, read, solve_labels

REFUSED = 2
INTERRUPTED = 130
"""Exit status after an error, and after Ctrl-C."""

SHOWN_WHOLE = 40
"""Variables of a state that is shown in the table."""


def options() -> ArgumentParser:
    """What the command takes."""
    parser = command(
        "solve FILE ...",
        "Solve the problems of files, plain or gzip. An .npz file (numpy.savez) holds unary [..., n], and "
        "optionally pairwise [..., n, n], or pairwise [..., e] with edges [e, 2]; its objective is "
        "sum_i unary_i z_i + sum_(i,j) pairwise_ij z_i z_j, maximised over z in {0,1}^n. The other formats "
        "have objectives of their own, which are what `value` shows; those of toulbar2 (.wcsp, .cfn), and .uai of "
        "any sizes, have variables of several values. A large batch is solved in chunks; Ctrl-C "
        "ends it, and what was found until then is shown and written.",
    )
    parser.add_argument(
        "files", type=str, nargs="+", metavar="FILE", help="with one problem, or .npz with a batch"
    )
    formats = ", ".join(
        [*FORMATS, *(name for name in label_formats.FORMATS if name not in FORMATS)]
    )
    parser.add_argument("--format", type=str | None, help=f"{formats}; default: seen from the file")
    parser.add_argument(
        "--solver",
        type=str,
        default="auto",
        help="a name from `structured-vae solvers`; for files of several values also one of solvers.labels",
    )
    parser.add_argument("--time_limit", type=float | None, help="seconds for each file")
    parser.add_argument(
        "--threads", type=int | None, help="for solvers with this option; default: theirs"
    )
    parser.add_argument(
        "--output",
        type=str | None,
        help="file for the answers: a table if it ends in .csv, else JSON",
    )
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Solves the files; ends the process where not all went well."""
    settings = chosen.solver, chosen.format, chosen.time_limit, chosen.threads
    status = FileSolver(*settings, console, console_of(stderr=True)).solve(
        chosen.files, chosen.output
    )
    if status:
        leave(status)


@dataclass
class FileSolver:
    """What a call of `structured-vae solve` does, and what it has to say at the end.

    Attributes:
        solver: registry name or "auto".
        format: of the files; None to see it from each.
        time_limit: seconds for each file.
        threads: for solvers with that option; None for their default.
        console: for answers.
        errors: for messages and progress.
    """

    solver: str
    format: str | None
    time_limit: float | None
    threads: int | None
    console: Console
    errors: Console
    records: list[dict[str, Any]] = field(default_factory=list)
    status: int = 0

    def solve(self, files: Sequence[str], output: str | None) -> int:
        """Reports every file, writes the answers, and returns the exit status.

        An error of one file does not lose the others. Ctrl-C ends the work; what was found until
        then is reported and written.

        Raises:
            SolverError: no solver has that name.
            OSError: the answers cannot be written.
        """
        if self.solver != "auto":
            check_name(self.solver)
        if output:
            check_writable(Path(output))
        try:
            for file in files:
                self._solve_one(file, len(files) > 1)
                if self.status == INTERRUPTED:
                    break
        except KeyboardInterrupt:  # while a file was read
            self.errors.print("stopped")
            self.status = INTERRUPTED
        if output and any("score" in record for record in self.records):
            write_answers(Path(output), self.records)
            self.console.print(f"written: {output}")
        return self.status

    def _solve_one(self, file: str, several: bool) -> None:
        try:
            conversion = read(file, self.format)
            if isinstance(conversion, LabelConversion):
                self._solve_labels(file, conversion, several)
                return
            solver, reason = self._choose(conversion.problem)
            with Live(file, conversion, self.errors) as live:
                answers = solve_in_chunks(
                    conversion.problem, solver, self.time_limit, live.done, live.heard
                )
        except (SolverError, OSError) as error:
            message = str(error)
            self._refuse(message if file in message or not several else f"{file}: {message}")
            self.records.append({"file": file, "error": message})
            return
        answers = replace(answers, solution=conversion.completed(answers.solution))
        self.records.append(answer_record(file, conversion, answers))
        self.console.print(solution_table(conversion, answers.solution, file if several else ""))
        self.console.print(_summary(conversion.problem, answers, reason))
        if isinstance(answers.stopped, KeyboardInterrupt):
            self.errors.print(
                f"stopped; {file}: {answers.reached} of {conversion.problem.batch} solved"
            )
            self.status = INTERRUPTED
        elif answers.stopped:
            done = f"after {answers.reached} of {conversion.problem.batch}: {answers.stopped}"
            self._refuse(f"{file} {done}")
            self.records[-1]["error"] = done

    def _solve_labels(self, file: str, conversion: LabelConversion, several: bool) -> None:
        answer = solve_labels(conversion, self.solver, self.time_limit, self.threads)
        record = label_record(file, conversion, answer)
        self.records.append(record)
        self.console.print(
            label_table(record, conversion, answer.solution, file if several else "")
        )
        problem, proved = (
            conversion.problem,
            "proved optimal" if record["optimal"] else "not proved",
        )
        self.console.print(
            f"n = {problem.n} of up to {problem.k} values, e = {problem.e} in {answer.seconds:.3g} s, {proved}"
        )
        if answer.reason:
            self.console.print(f"chosen because {answer.reason}")
        if answer.stopped:
            self.errors.print(f"stopped; {file}")
            self.status = INTERRUPTED

    def _choose(self, problem: Problem) -> tuple[ArgmaxSolver, str]:
        """The solver, and why it; a named one has to have the option `threads` if that is given."""
        if self.solver != "auto":
            options = {} if self.threads is None else {"threads": self.threads}
            return solver_class(self.solver)().with_options(**options), ""
        selection = select_solver(problem)
        if self.threads is None or "threads" not in selection.solver.options():
            return selection.solver, selection.reason
        return selection.solver.with_options(threads=self.threads), selection.reason

    def _refuse(self, message: str) -> None:
        self.errors.print("error:", message, style="red")
        self.status = REFUSED


def leave(status: int) -> None:
    """Ends the process; at once where a solver still runs in a thread that was left behind."""
    if status == INTERRUPTED and left_behind():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)


def _summary(problem: Problem, answers: Answers, reason: str) -> str:
    proved = int(answers.solution.optimal.sum())
    lines = [
        f"{problem.batch} instances of n = {problem.n}, e = {problem.e} in {answers.seconds:.3g} s, "
        f"{proved} proved optimal"
    ]
    if answers.reached < problem.batch:
        lines.append(
            f"{problem.batch - answers.reached} were not reached: their answer is all zeros"
        )
    if reason:
        lines.append(f"chosen because {reason}")
    return "\n".join(lines)


def solution_table(
    conversion: Conversion, solution: Solution, file: str = "", shown: int = 10
) -> Table:
    """The first few answers of a batch, short states whole; value and bound are of the objective in the file."""
    place = f"{file}, " if file else ""
    table = Table(title=f"{place}solver {solution.solver}")
    z = solution.z.reshape(-1, solution.z.shape[-1])
    whole = z.shape[-1] <= SHOWN_WHOLE
    for column in ("instance", "value", "optimal", "bound", "z" if whole else "ones"):
        table.add_column(column, justify="right", overflow="fold")
    arrays = (
        objectives(conversion, solution),
        solution.optimal,
        objective_bounds(conversion, solution),
    )
    rows = list(zip(*(array.reshape(-1) for array in arrays), z, strict=True))
    for number, (value, optimal, bound, state) in enumerate(rows[:shown]):
        ones = "".join(map(str, state.tolist())) if whole else f"{int(state.sum())} of {len(state)}"
        table.add_row(
            str(number), f"{value:.10g}", "yes" if optimal else "no", f"{bound:.10g}", ones
        )
    said = [f"{len(rows) - shown} more"] if len(rows) > shown else []
    said += [] if whole else ["--output FILE has the states"]
    table.caption = "; ".join(said) or None
    return table
