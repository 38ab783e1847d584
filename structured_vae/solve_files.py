"""Problems in files, solved one file after the other."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from tqdm import tqdm

from solvers import ArgmaxSolver, Problem, SolverError, select_solver, solver_class
from solvers.formats import read_problem

from .answers import answer_record, check_writable, write_answers
from .in_chunks import Answers, left_behind, solve_in_chunks
from .tables import solution_table

REFUSED = 2
INTERRUPTED = 130
"""Exit status after an error, and after Ctrl-C."""


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

        An error of one file does not lose the others. Ctrl-C ends the work; what was found until then is
        reported and written.

        Raises:
            SolverError: no solver has that name.
            OSError: the answers cannot be written.
        """
        if self.solver != "auto":
            solver_class(self.solver)
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
        if output and any("z" in record for record in self.records):
            write_answers(Path(output), self.records)
            self.console.print(f"written: {output}")
        return self.status

    def _solve_one(self, file: str, several: bool) -> None:
        try:
            conversion = read_problem(file, self.format)
            solver, reason = self._choose(conversion.problem)
            with self._bar(file, conversion.problem.batch) as bar:
                answers = solve_in_chunks(
                    conversion.problem, solver, self.time_limit, lambda done: bar.update(done - bar.n)
                )
        except (SolverError, OSError) as error:
            message = str(error)
            self._refuse(message if file in message or not several else f"{file}: {message}")
            self.records.append({"file": file, "error": message})
            return
        self.records.append(answer_record(file, conversion, answers))
        self.console.print(solution_table(conversion, answers.solution, file if several else ""))
        self.console.print(_summary(conversion.problem, answers, reason))
        if isinstance(answers.stopped, KeyboardInterrupt):
            self.errors.print(f"stopped; {file}: {answers.reached} of {conversion.problem.batch} solved")
            self.status = INTERRUPTED
        elif answers.stopped:
            done = f"after {answers.reached} of {conversion.problem.batch}: {answers.stopped}"
            self._refuse(f"{file} {done}")
            self.records[-1]["error"] = done

    def _choose(self, problem: Problem) -> tuple[ArgmaxSolver, str]:
        """The solver, and why it; a named one has to have the option `threads` if that is given."""
        if self.solver != "auto":
            options = {} if self.threads is None else {"threads": self.threads}
            return solver_class(self.solver)().with_options(**options), ""
        selection = select_solver(problem)
        if self.threads is None or "threads" not in selection.solver.options():
            return selection.solver, selection.reason
        return selection.solver.with_options(threads=self.threads), selection.reason

    def _bar(self, file: str, total: int) -> tqdm:
        """Of instances, for work that takes longer than a second, on a terminal alone."""
        stream = self.errors.file
        # Without a least number of instances the clock ticks while none is done.
        return tqdm(desc=file, total=total, file=stream, miniters=0, delay=1, leave=False, disable=None)

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
        lines.append(f"{problem.batch - answers.reached} were not reached: their answer is all zeros")
    if reason:
        lines.append(f"chosen because {reason}")
    return "\n".join(lines)
