"""Choose the backends that run in turn on a part of a sparse problem."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...algorithms.presolve.penalties import first_penalties
from ...limits.deadline import Deadline
from ...paused import PausedSolver
from ...problems.problem import Problem
from ...registry import solver_class
from ...solver import ArgmaxSolver
from ..portfolio import CUT_SHARE, Turn
from .clique_turns import exclusive, exclusive_turns, pairs_exclude, within_constraints
from .third_parties import third_party
from .turn_lengths import (
    EDGE_DEGREE,
    MORE_VISITS,
    MOST_SECONDS,
    QUICK_ENTRIES,
    QUICK_WIDTH,
    SECONDS_AN_ENTRY,
    SOON_ENTRIES,
    SOON_WIDTH,
    are_tables_in_time,
    entries_of_tables,
    seconds_of_a_turn,
    with_one_thread,
)

MOST_ENTRIES = 1 << 30
"""Number of entries up to which tables take some seconds.

In a field, tables prove parts that messages and odd cycles do not prove. Other backends run first
for more entries, and without a field.
"""

TABLES_SHARE = 0.5
"""Share of the remaining time that tables may take if other backends run first."""

MESSAGES_DEGREE = 20
"""Mean degree above which message bounds are hardly better than bounds from the signs."""

FEW_VISITS = 1 << 17
"""Visits of `dual_ascent` before other backends run: about 10 ms."""

LONG_VISITS = 1 << 20
"""Visits of `dual_ascent` in a small part without small tables or cycles: about 80 ms.

They prove most parts whose couplings differ; other backends need longer for these.
"""

WIDE_GAP = 0.01
"""Gap that odd cycles leave after a short run, as a share of the magnitude of the scores.

Odd cycles do not prove a part with such a gap, so convex bounds get all of the remaining time.
"""

CLOSING = 3.0
"""Second run of odd cycles in units of the first one, if the first one leaves no `WIDE_GAP`.

Odd cycles prove most of these parts, so convex bounds are tried later.
"""

MOST_TURNED = 100
"""Size of a part without a field above which no search closes the gap of messages.

Up to this number, convex bounds prove a part that is not sparse in about ten milliseconds.
"""

FIELDS = 0.5
"""Share of variables with a field from which on a part counts as in a field.

A part with a smaller share may come from a problem that has only couplings and one clamped spin.
Then only the few neighbours of this spin have a field.
"""

BOUND_SECONDS = 10.0
"""Seconds of the semidefinite bound before a third party searches without a time limit."""

MOST_MODELLED = 100_000
"""Pairs up to which a third party gets a share of the time after the semidefinite bound."""

MOST_CUT = 10_000
"""Variables up to which linear programs over odd cycles are solved in less than hours."""

BRANCHED = 120
"""Variables of a part in a field up to which convex bounds are faster than odd cycles."""

BRANCHED_DEGREE = 6
"""Mean degree of a part in a field from which on convex bounds may be better than odd cycles."""

RACED_DEGREE = 5
"""Mean degree from which on odd cycles and convex bounds may differ widely.

On a cubic lattice, for example, odd cycles are better. In a field they are better up to
`BRANCHED_DEGREE`.
"""


def turns(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends that run on a part, one after the other until one has proved it."""
    elimination = with_one_thread("elimination")
    sparse = 2 * problem.e <= EDGE_DEGREE * problem.n
    in_a_field = _in_a_field(problem)
    # Tables this small prove the part immediately.
    if entries_of_tables(problem, QUICK_WIDTH, deadline) <= QUICK_ENTRIES:
        yield Turn(elimination)
        return
    # Cliques, or constraints in place of penalties, bound pairs that exclude each other.
    penalties = first_penalties(problem)
    if exclusive(problem):
        yield from exclusive_turns(problem, penalties, deadline)
        return
    excludes = pairs_exclude(problem)
    if excludes and penalties is not None and penalties.few:
        yield Turn(within_constraints(problem.n))
        return
    # Messages and odd cycles are weak on a small part of many pairs.
    if problem.n <= MOST_TURNED and not (sparse or excludes or penalties):
        yield from _dense(problem, deadline)
        return
    # A short run of messages proves many of the other parts.
    dense = 2 * problem.e > MESSAGES_DEGREE * problem.n
    if (in_a_field or problem.n <= MOST_TURNED) and not dense:
        visits = FEW_VISITS
        if sparse and in_a_field:
            visits = MORE_VISITS
        yield Turn(with_one_thread("dual_ascent", visits=visits))
    entries = entries_of_tables(problem, SOON_WIDTH, deadline)
    if entries <= SOON_ENTRIES and are_tables_in_time(entries, deadline):
        yield Turn(elimination)
    elif penalties is not None:
        yield from _penalised(problem, deadline)
    elif excludes:
        yield Turn(third_party(problem.n))
    elif sparse and problem.n <= MOST_CUT:
        yield from _cuts(problem, deadline, in_a_field)
    else:
        yield from _dense(problem, deadline)


def _race(
    problem: Problem,
    cuts: ArgmaxSolver,
    branch_and_bound: ArgmaxSolver,
    seconds: float,
    in_a_field: bool,
    tables: bool,
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield odd cycles and convex bounds if either may be far better.

    Args:
        problem: a part.
        cuts: the backend of odd cycles.
        branch_and_bound: that of convex bounds.
        seconds: maximum seconds of a run while another backend may prove the part sooner.
        in_a_field: whether most variables have a field.
        tables: whether the tables of elimination can still prove the part in time.
    """
    least = RACED_DEGREE
    if in_a_field:
        least = BRANCHED_DEGREE
    if 2 * problem.e < least * problem.n or branch_and_bound.why_not(problem):
        return
    if in_a_field and problem.n <= BRANCHED:
        yield Turn(branch_and_bound)
        return
    yield Turn(cuts, seconds)
    if not (tables or in_a_field):
        yield Turn(branch_and_bound, least_gap=WIDE_GAP)
    if not tables:
        yield Turn(cuts, CLOSING * seconds, most_gap=WIDE_GAP)
    yield Turn(branch_and_bound, seconds)
    if not tables:
        yield Turn(branch_and_bound, leading=True)


def _penalised(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends for a problem that has penalties in place of constraints."""
    branch_and_bound = _branch_and_bound()
    if not branch_and_bound.why_not(problem):
        yield Turn(branch_and_bound, seconds_of_a_turn(deadline))
    yield Turn(within_constraints(problem.n))


def _dense(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield convex bounds, or the backends for a problem that is too large for them."""
    branch_and_bound = _branch_and_bound()
    if not branch_and_bound.why_not(problem):
        yield Turn(branch_and_bound)
        return
    if are_tables_in_time(entries_of_tables(problem, deadline=deadline), deadline):
        yield Turn(with_one_thread("elimination"))
    yield from _large(problem, deadline)


def _large(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends for a problem that is too large for convex bounds at every node.

    The semidefinite bound comes with a local search. A third party proves some of these problems.
    It runs for its share of a time limit; then the local search continues.
    """
    semidefinite = with_one_thread("semidefinite")
    if semidefinite.why_not(problem):
        yield Turn(third_party(problem.n))
        return
    if not deadline.limited:
        yield Turn(semidefinite, BOUND_SECONDS)
        yield Turn(third_party(problem.n))
        return
    if problem.e <= MOST_MODELLED:
        yield Turn(semidefinite, CUT_SHARE * deadline.left)
        yield Turn(third_party(problem.n), CUT_SHARE * deadline.left)
    yield Turn(semidefinite)


def _cuts(problem: Problem, deadline: Deadline, in_a_field: bool) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield odd cycles, and the backends that are likely to finish where odd cycles are weak."""
    entries = entries_of_tables(problem, deadline=deadline)
    elimination = with_one_thread("elimination")
    cuts = solver_class("cycle_cuts")().paused()
    branch_and_bound = _branch_and_bound()
    seconds = seconds_of_a_turn(deadline)
    if not in_a_field:
        yield from _without_cycles(problem, branch_and_bound, seconds)
    has_small_tables = entries <= MOST_ENTRIES
    share = TABLES_SHARE
    if in_a_field and has_small_tables:
        share = 1.0
    tables = are_tables_in_time(entries, deadline, share)
    if tables and has_small_tables:
        if not in_a_field:
            yield _before_tables(cuts, entries)
        yield Turn(elimination)
        return
    yield from _race(problem, cuts, branch_and_bound, seconds, in_a_field, tables)
    if tables:
        yield _before_tables(cuts, entries)
        yield Turn(elimination)
    yield Turn(cuts)


def _without_cycles(
    problem: Problem, branch_and_bound: ArgmaxSolver, seconds: float
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield messages and convex bounds for a small part of too many edges for odd cycles.

    Args:
        problem: a part without a field.
        branch_and_bound: the backend of convex bounds.
        seconds: maximum seconds of convex bounds.
    """
    if problem.n > MOST_TURNED or 2 * problem.e < RACED_DEGREE * problem.n:
        return
    if not branch_and_bound.why_not(problem):
        yield Turn(with_one_thread("dual_ascent", visits=LONG_VISITS))
        yield Turn(branch_and_bound, seconds)


def _before_tables(cuts: ArgmaxSolver, entries: float) -> Turn[ArgmaxSolver]:
    """Return a run of odd cycles for as long as tables would take.

    Their root node already proves some problems, such as planar ones.
    """
    return Turn(cuts, min(SECONDS_AN_ENTRY * entries, MOST_SECONDS))


def _branch_and_bound() -> PausedSolver[Any]:
    """Return the search by convex bounds, whose runs resume each other."""
    return solver_class("branch_and_bound")().paused()


def _in_a_field(problem: Problem) -> bool:
    """Return whether flipping all spins changes scores of most variables."""
    around = 2 * problem.unary[0]
    for end in problem.edges.T:
        around = around + np.bincount(end, problem.pairwise[0], problem.n)
    return bool(np.count_nonzero(around) >= FIELDS * problem.n)
