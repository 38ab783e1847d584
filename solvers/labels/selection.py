"""What `auto` takes for labels, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import UnknownSolverError
from ..registry import BINARY
from ..solver import ArgmaxSolver
from .backends.bits import Bits
from .backends.elimination import Elimination
from .portfolio import Portfolio, elimination_entries
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
        solver: "auto"; a name of `solvers.labels.available_solvers()` or an object of such a class;
            or a binary solver by name or object, which then gets the bits of the labels (`Bits`).
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

    It is never a heuristic and never a plug-in. With a time limit it may stop short of a proof;
    `optimal` is False then.

    Example:
        >>> select_solver(LabelProblem.from_arrays([[0.0, 1.0, 2.0]])).reason
        'there are no pairwise scores'
    """
    if not problem.e:
        return _select("independent", "there are no pairwise scores")
    if problem.is_potts and Elimination.is_linear(problem):
        return _select("elimination", "pairs score equal values, and their graph is a forest")
    if int(problem.sizes.max()) <= 2:
        return Selection(Bits(), "all variables are binary")
    entries = elimination_entries(problem)
    if 0 < entries <= QUICK_ENTRIES:
        return _select("elimination", f"its tables have {entries:.2g} entries")
    has_tables = not problem.is_potts and problem.own is None
    if has_tables and not Bits("max_flow").why_not(problem):
        return Selection(
            Bits("max_flow"), "tables are supermodular in the order of the labels: a cut is exact"
        )
    if entries:
        return Selection(
            Portfolio(), f"a search first, then its tables, which have {entries:.2g} entries"
        )
    return _select(
        "dual_ascent", "tables do not fit into memory, and no cut is exact: a search with messages"
    )


def _select(name: str, reason: str) -> Selection:
    return Selection(LABELS.solver_class(name)(), reason)
