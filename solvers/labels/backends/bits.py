"""Solve label problems by any solver of bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import States
from ...constraint_rows import Rows
from ...errors import InfeasibleError, UnsupportedProblemError
from ...limits.deadline import Deadline, preparing
from ...problems.starts import given_states
from ...registry import BITS
from ...solution import Maximiser, Solution, SolveInterrupted
from ...solver import ArgmaxSolver, Capabilities
from ...solving.bits.selection import select_within
from ...solving.listening import report_for_whole
from ...solving.selection import resolve
from ..algorithms.domain_wall import DomainWall, bits_of, domain_wall
from ..indicators import rows_of_bits
from ..problem import LabelProblem
from ..solver import LabelSolver


@dataclass(frozen=True)
class Bits(LabelSolver):
    """Solver of label problems that encodes labels as ordered bits (the domain-wall encoding).

    The encoding gives a variable of s values s - 1 bits.

    With this encoding, `max_flow` is exact if tables are supermodular in the order of the labels
    (Ishikawa). Every other solver takes problems that have not too many bits.

    Attributes:
        solver: a name of `solvers.available_solvers()`, a solver object, or "auto".
        start: initial labels `[..., n]`, which broadcast to the batch; None for none.
    """

    solver: str | ArgmaxSolver = "auto"
    start: Any = field(default=None, compare=False)

    name = "bits"
    capabilities = Capabilities(exact=True, time_limit=True, constraints=2**54)

    def why_not(self, problem: LabelProblem) -> tuple[str, ...]:
        """Return why the binary solver cannot take the bits; nothing if `auto` chooses it."""
        coded = self._coded_for_checks(problem)
        if coded is None:
            return ()
        return _why_not(coded, resolve(self.solver, coded.problem))

    def why_not_within(self, problem: LabelProblem, constraints: Rows) -> str | None:
        """Return why the binary solver cannot take the constraints over the bits, or None.

        With "auto", no binary solver is chosen yet.
        """
        coded = self._coded_for_checks(problem)
        if coded is None:
            return super().why_not_within(problem, constraints)
        binary = resolve(self.solver, coded.problem)
        return _why_not_within(coded, binary, rows_of_bits(constraints, problem))

    def _coded_for_checks(self, problem: LabelProblem) -> DomainWall | None:
        """Return the bits; None if no check needs them."""
        if isinstance(self.solver, str) and self.solver == "auto":
            return None
        coded = domain_wall(problem.to_host())
        if coded is None or not coded.problem.n:
            return None
        return coded

    def _check_first(self, problem: LabelProblem, constraints: Rows | None = None) -> None:
        # The checks need the bits, whose writing the time limit has to watch.
        if constraints is not None and isinstance(self.solver, str) and self.solver == "auto":
            self.check_within(problem, constraints)

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        coded = domain_wall(problem, deadline)
        if coded is None:
            return Maximiser(self._first_labels(problem), problem.trivial_bound)
        if not coded.problem.n:  # one value each
            return Maximiser(coded.labels(coded.problem.unary))
        with preparing(deadline):
            binary = self._started(resolve(self.solver, coded.problem), problem)
        if reasons := _why_not(coded, binary):
            raise UnsupportedProblemError(self.name, reasons)
        binary.check(coded.problem)
        solution = binary.solve_until(
            coded.problem, deadline.within_whole(coded.problem, coded.known)
        )
        return self._maximiser(coded, solution, binary)

    def _argmax_within(
        self, problem: LabelProblem, constraints: Rows, deadline: Deadline
    ) -> Maximiser:
        coded = domain_wall(problem, deadline)
        if coded is None:
            labels = self._first_labels(problem)
            allowed = constraints.satisfied(problem.columns(labels))
            return Maximiser(np.where(allowed[:, None], labels, -1), problem.trivial_bound)
        if not coded.problem.n:
            labels = coded.labels(coded.problem.unary)
            if not constraints.satisfied(problem.columns(labels)).all():
                raise InfeasibleError(constraints.names)
            return Maximiser(labels)
        rows = rows_of_bits(constraints, problem)
        with preparing(deadline):
            named = BITS.named(self.solver) or select_within(coded.problem, rows).solver
        binary = self._started(named, problem)
        reasons = _why_not(coded, binary)
        reason = _why_not_within(coded, binary, rows)
        if reason is not None:
            reasons = (*reasons, reason)
        if reasons:
            raise UnsupportedProblemError(self.name, reasons)
        try:
            with report_for_whole(coded.problem, coded.known):
                solution = binary.solve_within(coded.problem, rows, deadline)
        except InfeasibleError:
            raise InfeasibleError(constraints.names) from None
        except SolveInterrupted as stopped:
            if not stopped.found:
                raise
            solution = stopped.solution
        return self._maximiser(coded, solution, binary)

    def _first_labels(self, problem: LabelProblem) -> States:
        """Return the initial labels, or the best ones without pairs."""
        labels = given_states(self.start, problem, np.int64)
        if labels is not None:
            return labels
        best: np.ndarray = np.asarray(problem.unary).argmax(axis=-1)
        return best

    def _started(self, binary: ArgmaxSolver, problem: LabelProblem) -> ArgmaxSolver:
        """Return the binary solver, with the bits of the initial labels if it takes a start."""
        labels = given_states(self.start, problem, np.int64)
        if labels is None or "start" not in binary.options():
            return binary
        return binary.with_options(start=bits_of(labels, problem))

    def _maximiser(
        self, coded: DomainWall, solution: Solution[np.ndarray], binary: ArgmaxSolver
    ) -> Maximiser:
        stats = dict(solution.stats)
        if self.start is not None and "start" not in binary.options():
            stats["start"] = "unused"
        z = coded.labels(solution.z)
        bound = coded.bound(solution.bound)
        return Maximiser(z, bound, stats, solution.solver, coded.rounding, coded.tolerance)


def _why_not(coded: DomainWall, binary: ArgmaxSolver) -> tuple[str, ...]:
    """Return the reasons why a binary solver cannot take the bits."""
    return tuple(_of_bits(coded, binary, reason) for reason in binary.why_not(coded.problem))


def _why_not_within(coded: DomainWall, binary: ArgmaxSolver, rows: Rows) -> str | None:
    """Return why a binary solver cannot take constraints over the bits; None if it can."""
    reason = binary.why_not_within(coded.problem, rows)
    if reason is None:
        return None
    return _of_bits(coded, binary, reason)


def _of_bits(coded: DomainWall, binary: ArgmaxSolver, reason: str) -> str:
    return f"by {binary.name} of its {coded.problem.n} bits: {reason}"
