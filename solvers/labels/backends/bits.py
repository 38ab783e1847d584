"""Solve label problems by any solver of bits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...constraint_rows import Rows
from ...errors import InfeasibleError
from ...limits.deadline import Deadline, preparing
from ...problems.starts import given_states
from ...registry import BITS
from ...solution import Maximiser, Solution, SolveInterrupted
from ...solver import ArgmaxSolver, Capabilities
from ...solving.listening import heard_of
from ...solving.selection import resolve, select_within
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
        if isinstance(self.solver, str) and self.solver == "auto":
            return ()
        bits = domain_wall(problem.to_host()).problem
        if not bits.n:
            return ()
        binary = resolve(self.solver, bits)
        return tuple(
            f"by {binary.name} of its {bits.n} bits: {reason}" for reason in binary.why_not(bits)
        )

    def why_not_within(self, problem: LabelProblem, constraints: Rows) -> str | None:
        """Return why the binary solver cannot take the constraints over the bits, or None.

        With "auto", no binary solver is chosen yet.
        """
        if isinstance(self.solver, str) and self.solver == "auto":
            return super().why_not_within(problem, constraints)
        bits = domain_wall(problem.to_host()).problem
        if not bits.n:
            return super().why_not_within(problem, constraints)
        binary = resolve(self.solver, bits)
        reason = binary.why_not_within(bits, rows_of_bits(constraints, problem))
        if reason is None:
            return None
        return f"by {binary.name} of its {bits.n} bits: {reason}"

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        coded = domain_wall(problem)
        if not coded.problem.n:  # one value each
            return Maximiser(coded.labels(coded.problem.unary))
        with preparing(deadline):
            binary = self._started(resolve(self.solver, coded.problem), problem)
        binary.check(coded.problem)
        solution = binary.solve_until(
            coded.problem, deadline.within_whole(coded.problem, coded.known)
        )
        return self._maximiser(coded, solution, binary)

    def _argmax_within(
        self, problem: LabelProblem, constraints: Rows, deadline: Deadline
    ) -> Maximiser:
        coded = domain_wall(problem)
        if not coded.problem.n:
            labels = coded.labels(coded.problem.unary)
            if not constraints.satisfied(problem.columns(labels)).all():
                raise InfeasibleError(constraints.names)
            return Maximiser(labels)
        rows = rows_of_bits(constraints, problem)
        with preparing(deadline):
            named = BITS.named(self.solver) or select_within(coded.problem, rows).solver
        binary = self._started(named, problem)
        try:
            with heard_of(coded.problem, coded.known):
                solution = binary.solve_within(coded.problem, rows, deadline)
        except InfeasibleError:
            raise InfeasibleError(constraints.names) from None
        except SolveInterrupted as stopped:
            if not stopped.found:
                raise
            solution = stopped.solution
        return self._maximiser(coded, solution, binary)

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
