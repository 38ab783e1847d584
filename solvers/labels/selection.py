"""Choose the label solver that `auto` uses, with a reason."""

from __future__ import annotations

import numpy as np

from ..algorithms.elimination.treewidth import treewidth_bound
from ..errors import UnknownSolverError
from ..limits.deadline import PREPARATION_SHARE, Deadline, preparation
from ..registry import BITS, LABELS
from ..solver import ArgmaxSolver
from ..solving.kinds import Selection
from .algorithms.domain_wall import pairs_of_bits
from .algorithms.supermodular_tables import are_supermodular
from .backends.bits import Bits
from .backends.elimination import Elimination
from .messages_first import MessagesFirst, elimination_entries
from .problem import LabelProblem
from .solver import LabelSolver

QUICK_ENTRIES = 1 << 22
"""Number of entries up to which tables take some hundredths of a second per instance."""

SHORT_ENTRIES = 1 << 18
"""Number of entries up to which tables take some milliseconds per instance, like short searches."""

FOREST_ENTRIES = 1 << 26
"""Number of entries up to which elimination takes some hundredths of a second on a forest."""

SECONDS_A_PAIR_OF_BITS = 1e-6
"""Of a minimum cut of the bits of labels, about: most of it is to write labels as bits."""

QUICK_SHARE = 16
"""Entries for each pair of values up to which tables take about as long as reading the scores."""


def named_solver(solver: str | LabelSolver | ArgmaxSolver) -> LabelSolver | None:
    """Return the solver object that `solver` means for every problem; None for "auto".

    Args:
        solver: "auto"; a name of `solvers.available_solvers("labels")` or an object of such a
            class; or a binary solver by name or object, which then gets the labels encoded as
            bits (`Bits`).

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
    if _is_quick_forest(problem, entries):
        return _select("elimination", f"a forest: its tables have {entries:.2g} entries in all")
    if _are_cut(problem):
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


def _is_quick_forest(problem: LabelProblem, entries: int) -> bool:
    """Return whether elimination reads each table once, and soon."""
    if not 0 < entries <= FOREST_ENTRIES:
        return False
    return treewidth_bound(problem.topology, 1) == 1


def _are_cut(problem: LabelProblem) -> bool:
    """Return whether a minimum cut of bits is exact for all instances, and ends in time.

    A cut has no state before its end, so a search is better where the time is short.
    """
    if problem.is_potts or problem.edge_tables is not None:
        return False
    deadline = preparation() or Deadline.after(None)
    seconds = problem.batch * pairs_of_bits(problem) * SECONDS_A_PAIR_OF_BITS
    if seconds > deadline.left / PREPARATION_SHARE:
        return False
    return are_supermodular(problem.to_host(), deadline)


def _select(name: str, reason: str) -> Selection[LabelSolver]:
    return Selection(LABELS.solver_class(name)(), reason)
