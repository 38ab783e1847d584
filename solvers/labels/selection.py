"""Choose the label solver that `auto` uses, with a reason."""

from __future__ import annotations

import numpy as np

from ..errors import UnknownSolverError
from ..registry import BITS, LABELS
from ..solver import ArgmaxSolver
from ..solving.kinds import Selection
from .backends.bits import Bits
from .backends.elimination import Elimination
from .messages_first import MessagesFirst, elimination_entries
from .problem import LabelProblem
from .solver import LabelSolver

QUICK_ENTRIES = 1 << 22
"""Number of entries up to which tables take some hundredths of a second per instance."""

SHORT_ENTRIES = 1 << 18
"""Number of entries up to which tables take some milliseconds per instance, like short searches."""

QUICK_SHARE = 16
"""Entries for each pair of values up to which tables take about as long as reading the scores."""


def named_solver(solver: str | LabelSolver | ArgmaxSolver) -> LabelSolver | None:
    """Return the solver object that `solver` means for every problem; None for "auto".

    Args:
        solver: "auto"; a name of `solvers.labels.available_solvers()` or an object of such a class;
            or a binary solver by name or object, which then gets the labels encoded as bits
            (`Bits`).

    Raises:
        UnknownSolverError: no solver has that name.
    """
    if isinstance(solver, ArgmaxSolver):
        return Bits(solver)
    try:
        return LABELS.named(solver)
    except UnknownSolverError as unknown:
        if not isinstance(solver, str):
            raise
        try:
            BITS.solver_class(solver)
        except UnknownSolverError as of_bits:
            raise UnknownSolverError(f"{unknown}. And for their bits, {of_bits}") from None
        return Bits(solver)


def select_within() -> Selection[LabelSolver]:
    """Return the solver of assignments that satisfy constraints, for any problem."""
    return Selection(Bits(), "solvers of its bits take constraints")


def select_labels(problem: LabelProblem) -> Selection[LabelSolver]:
    """Return the fastest exact solver that we know of for a problem over labels."""
    if not problem.e:
        return _select("independent", "there are no pairwise scores")
    if problem.is_potts and Elimination.is_linear(problem):
        return _select("elimination", "pairs score equal values, and their graph is a forest")
    if int(problem.sizes.max()) <= 2:
        return Selection(Bits(), "all variables are binary")
    entries = elimination_entries(problem)
    if 0 < entries <= QUICK_ENTRIES and _are_quick(problem, entries):
        return _select("elimination", f"its tables have {entries:.2g} entries")
    has_tables = not problem.is_potts and problem.edge_tables is None
    if has_tables and _are_cut(problem):
        return Selection(
            Bits("max_flow"), "tables are supermodular in the order of the labels: a cut is exact"
        )
    if entries:
        return Selection(
            MessagesFirst(), f"a search first, then its tables, which have {entries:.2g} entries"
        )
    return _select(
        "dual_ascent", "tables do not fit into memory, and no cut is exact: a search with messages"
    )


def _are_quick(problem: LabelProblem, entries: int) -> bool:
    """Return whether the tables of elimination take no longer than the start of a search."""
    if entries <= SHORT_ENTRIES:
        return True
    sizes = problem.sizes[problem.edges]
    pairs_of_values = int(sizes.prod(axis=1, dtype=np.int64).sum())
    return entries <= QUICK_SHARE * pairs_of_values


def _are_cut(problem: LabelProblem) -> bool:
    """Return whether a minimum cut of bits is exact for all instances."""
    cuts = Bits("max_flow")
    # The bits of one instance take little time, and usually rule out a minimum cut.
    if problem.batch > 1 and cuts.why_not(problem.to_host().instances(slice(0, 1))):
        return False
    return not cuts.why_not(problem)


def _select(name: str, reason: str) -> Selection[LabelSolver]:
    return Selection(LABELS.solver_class(name)(), reason)
