"""Check the solver that a caller names, before there is a problem."""

from __future__ import annotations

from typing import Any

from solvers import ArgmaxSolver, UnknownSolverError, solver_class
from solvers.labels import LabelSolver


def check_solver(solver: Any) -> None:
    """Raise unless this is a solver of bits or of labels, or the name of one.

    Args:
        solver: what a caller passed.

    Raises:
        solvers.UnknownSolverError: it is none of these.
    """
    if isinstance(solver, ArgmaxSolver | LabelSolver):
        return
    if isinstance(solver, str) and solver == "auto":
        return
    try:
        solver_class(solver)
    except UnknownSolverError as of_bits:
        try:
            solver_class(solver, "labels")
        except UnknownSolverError:
            raise of_bits from None
