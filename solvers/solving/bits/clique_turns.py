"""Choose the backends for a part whose pairs exclude each other, as in an independent set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...algorithms.precision.fixed_point import FixedPoint
from ...algorithms.presolve.penalties import Penalties, exclusions
from ...limits.deadline import Deadline
from ...paused import PausedSolver
from ...problems.problem import Problem
from ...registry import solver_class
from ...solver import ArgmaxSolver
from ..portfolio import CUT_SHARE, Turn
from .third_parties import third_party, why_not_cp_sat, why_not_highs
from .turn_lengths import (
    EDGE_DEGREE,
    MOST_SECONDS,
    SOON_ENTRIES,
    SOON_WIDTH,
    are_tables_in_time,
    entries_of_tables,
    seconds_of_a_turn,
    with_one_thread,
)

FEW_NODES = 500
"""Nodes of `clique_cover` before other backends run: about 20 ms."""

CLIQUE_SECONDS = 10.0
"""Maximum seconds of `clique_cover` on a sparse part; a third party may prove larger ones."""

MOST_PROGRAMMED = 1000
"""Variables up to which cliques for linear programs are found in less than minutes."""

EXCLUDED = 0.97
"""Share of pairs that exclude each other from which on cliques of pairs bound a part well.

Penalties make pairs exclude each other.
"""


def exclusive_turns(
    problem: Problem, penalties: Penalties | None, deadline: Deadline
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield cliques of pairs that exclude each other, then backends for parts they do not prove.

    Args:
        problem: a part in which nearly all pairs exclude each other.
        penalties: its groups, if they cover enough of its variables.
        deadline: when to end.
    """
    cliques = solver_class("clique_cover")().paused()
    yield Turn(cliques.with_options(nodes=FEW_NODES))
    entries = entries_of_tables(problem, SOON_WIDTH, deadline)
    if entries <= SOON_ENTRIES and are_tables_in_time(entries, deadline):
        yield Turn(with_one_thread("elimination"))
        return
    if penalties is not None and penalties.few:
        yield from _grouped(problem, cliques, deadline)
    elif 2 * problem.e <= EDGE_DEGREE * problem.n:
        yield Turn(cliques, min(CLIQUE_SECONDS, CUT_SHARE * deadline.left))
        yield Turn(third_party(problem.n))
    else:
        yield from _ungrouped(problem, cliques, penalties, deadline)


def _grouped(
    problem: Problem, cliques: PausedSolver[Any], deadline: Deadline
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield the backends of a part that consists of groups: linear programs bound it well.

    Cliques run first if their search is about to end. Within a time limit, they may still be better
    afterwards.
    """
    seconds = seconds_of_a_turn(deadline)
    if cliques.seconds_left <= seconds:
        yield Turn(cliques, seconds)
    if deadline.limited:
        yield Turn(within_constraints(problem.n), CUT_SHARE * deadline.left)
        yield Turn(cliques, seconds)
        if cliques.seconds_left > deadline.left:
            yield from _programs(problem, deadline)
        else:
            yield Turn(cliques, CUT_SHARE * deadline.left)
    yield Turn(within_constraints(problem.n))


def _programs(problem: Problem, deadline: Deadline) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield linear programs over cliques for a part whose search by cliques will not end.

    Their open nodes take memory, so that a long limit gives them no more than other short runs.
    """
    if problem.n <= MOST_PROGRAMMED and not why_not_highs():
        seconds = min(MOST_SECONDS, CUT_SHARE * deadline.left)
        yield Turn(solver_class("clique_cover")().by_programs(), seconds)


def _ungrouped(
    problem: Problem,
    cliques: PausedSolver[Any],
    penalties: Penalties | None,
    deadline: Deadline,
) -> Iterator[Turn[ArgmaxSolver]]:
    """Yield cliques, which prove such a part first, and others for its bound.

    The others do not run if the cliques are likely to end in time.
    """
    if deadline.limited:
        yield Turn(cliques, seconds_of_a_turn(deadline))
        if cliques.seconds_left > deadline.left:
            third = third_party(problem.n)
            if penalties is not None:
                third = within_constraints(problem.n)
            yield Turn(third, CUT_SHARE * deadline.left)
            yield from _programs(problem, deadline)
    yield Turn(cliques)


def within_constraints(n: int) -> ArgmaxSolver:
    """Return the search that takes constraints in place of penalties."""
    if why_not_cp_sat():
        return third_party(n)
    return solver_class("cp_sat")()


def exclusive(problem: Problem) -> bool:
    """Return whether `clique_cover` takes a problem, and its cliques are likely to bound it well.

    Nearly all pairs of the first instance then exclude each other, whatever the values of other
    variables. Independent sets and vertex covers are such problems when penalties express their
    constraints.
    """
    if solver_class("clique_cover")().why_not(problem):
        return False
    # Only a penalty excludes a pair; most problems have too few, and need no exact look.
    if np.count_nonzero(problem.pairwise[0] < 0) < EXCLUDED * problem.e:
        return False
    first = problem.instances(slice(0, 1)).to_host()
    excluded = exclusions(FixedPoint.of(first))
    return bool(np.count_nonzero(excluded.pairs) >= EXCLUDED * problem.e)


def pairs_exclude(problem: Problem) -> bool:
    """Return whether in nearly every pair both ends score alone, but no more together than one."""
    least = problem.unary[0][problem.edges].min(axis=1)
    exclude = (least > 0) & (problem.pairwise[0] <= -least)
    return bool(np.count_nonzero(exclude) >= EXCLUDED * problem.e)
