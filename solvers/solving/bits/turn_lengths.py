"""Estimate how long backends take on a part of a sparse problem, and how long they may run."""

from __future__ import annotations

import math
from typing import Any

from ...limits.deadline import Deadline, preparing
from ...problems.problem import Problem
from ...registry import solver_class
from ...solver import ArgmaxSolver

QUICK_WIDTH = 20
"""Width above which tables have more than `QUICK_ENTRIES`."""

QUICK_ENTRIES = 1 << 22
"""Number of entries up to which tables take about ten milliseconds, as the fastest searches do."""

SOON_WIDTH = 22
"""Width above which just the search for an elimination order takes a tenth of a second."""

SOON_ENTRIES = 1 << 24
"""Number of entries up to which tables take less than a tenth of a second."""

SECONDS_AN_ENTRY = 1.5e-9
"""Approximate seconds per table entry.

Elimination does not start if it could not fill its tables in time.
"""

EDGE_DEGREE = 8
"""Mean degree up to which messages and odd cycles bound a search better than convex relaxations."""

MORE_VISITS = 1 << 19
"""Visits of `dual_ascent` in a field, where messages work well: about 40 ms."""

CUT_SECONDS = 0.5
"""Seconds, without a time limit, of a run after which another backend may prove the part sooner."""

TURN_SHARE = 0.1
"""Share of a time limit that such a run may take."""

LEAST_SECONDS = 0.1
"""Minimum seconds of such a run within a time limit."""

MOST_SECONDS = 60.0
"""Maximum seconds of such a run."""


def seconds_of_a_turn(deadline: Deadline) -> float:
    """Return the seconds of a run that shows which backend is better."""
    if deadline.left == math.inf:
        return CUT_SECONDS
    return min(max(LEAST_SECONDS, TURN_SHARE * deadline.left), MOST_SECONDS)


def with_one_thread(name: str, **options: Any) -> ArgmaxSolver:
    """Return a backend for a part, since the parts already share the cores."""
    return solver_class(name)().with_options(threads=1, **options)


def entries_of_tables(
    problem: Problem, width: int | None = None, deadline: Deadline | None = None
) -> float:
    """Return the number of entries of the tables of elimination.

    It is infinite if it is known to be too large, if the width is above a limit of at most
    `SOON_WIDTH`, or if no order was found in a share of the time.
    """
    elimination = solver_class("elimination")
    with preparing(deadline):
        if width is not None:
            # One search for an order answers for both widths.
            least = elimination.treewidth_bound(problem.topology, SOON_WIDTH)
            if least is None or least > width:
                return math.inf
        if elimination().why_not(problem):
            return math.inf
    return elimination.entries(problem)


def are_tables_in_time(entries: float, deadline: Deadline, share: float = 1.0) -> bool:
    """Return whether tables exist, and a share of the remaining time is enough for them."""
    return entries < math.inf and SECONDS_AN_ENTRY * entries <= share * deadline.left
