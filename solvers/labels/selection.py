"""What `auto` takes for labels, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UnknownSolverError
from ..registry import BINARY
from ..solver import ArgmaxSolver
from .backends.bits import Bits
from .problem import LabelProblem
from .registry import LABELS
from .solver import LabelSolver

QUICK_ENTRIES = 1 << 22
"""Tables of so many entries take some hundredths of a second an instance."""


@dataclass(frozen=True)
class Selection:
    """The solver that `auto` takes for a problem, and why.

    Attributes:
        solver: ready to use.
        reason: one sentence.
    """

    solver: LabelSolver
    reason: str


def resolve(solver: str | LabelSolver | ArgmaxSolver, problem: LabelProblem) -> LabelSolver:
    """The solver object that `solver` means for `problem`.

    Args:
        solver: "auto"; a name of `solvers.labels.available_solvers()` or an object of such a class; or a binary
            solver by name or object, which then gets the bits of the labels (`Bits`).
        problem: for "auto".

    Raises:
        UnknownSolverError: no solver has that name.
    """
    if isinstance(solver, LabelSolver):
        return solver
    if isinstance(solver, ArgmaxSolver):
        return Bits(solver)
    if isinstance(solver, str) and solver == "auto":
        return select_solver(problem).solver
    try:
        return LABELS.solver_class(solver)()
    except UnknownSolverError as unknown:
        try:
            BINARY.solver_class(solver)
        except UnknownSolverError as of_bits:
            raise UnknownSolverError(f"{unknown}. And for their bits, {of_bits}") from None
        return Bits(solver)


def select_solver(problem: LabelProblem) -> Selection:
    """An installed solver that is exact for `problem`, the fastest that we know of.

    It is never a heuristic and never a plug-in. With a time limit it may stop short of a proof; `optimal` is False
    then.

    Example:
        >>> select_solver(LabelProblem.from_arrays([[0.0, 1.0, 2.0]])).reason
        'there are no pairwise scores'
    """
    if not problem.e:
        return _select("independent", "there are no pairwise scores")
    if int(problem.sizes.max()) <= 2:
        return Selection(Bits(), "all variables are binary")
    elimination = LABELS.solver_class("elimination")()
    if entries := _entries(problem, elimination):
        reason = f"its tables have {entries:.2g} entries"
        if entries <= QUICK_ENTRIES:
            return Selection(elimination, reason)
    if not Bits("max_flow").why_not(problem):
        return Selection(
            Bits("max_flow"), "tables are supermodular in the order of the labels: a cut is exact"
        )
    if entries:
        return Selection(elimination, f"{reason}, and fit into memory")
    return Selection(Bits("cp_sat"), "tables do not fit into memory, and no cut is exact: a search over bits")


def _select(name: str, reason: str) -> Selection:
    return Selection(LABELS.solver_class(name)(), reason)


def _entries(problem: LabelProblem, elimination: LabelSolver) -> int:
    """Entries of the tables of elimination; 0 where they do not fit into memory."""
    if elimination.why_not(problem):
        return 0
    return LABELS.solver_class("elimination").entries(problem)  # type: ignore[attr-defined, no-any-return]  # it has
