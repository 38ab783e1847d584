"""Search before elimination if tables fit into memory but take long to fill.

Elimination then solves the instances that the search did not prove.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..arrays import home_of
from ..limits.deadline import Deadline
from ..problems.starts import given_states
from ..registry import LABELS
from ..solution import Maximiser
from ..solving.portfolio import Portfolio, Search, Turn
from .problem import LabelProblem
from .solver import LabelSolver

SECONDS_AN_ENTRY = 4e-8
"""Approximate seconds per table entry; tables that cannot be filled in time are not started."""

ENTRIES_A_VISIT = 4
"""Number of table entries per node that the first search may visit.

At this ratio the search takes about a twentieth of the tables' time.
"""


@dataclass(frozen=True)
class MessagesFirst(Portfolio[LabelProblem], LabelSolver):
    """Run `dual_ascent` briefly, then `elimination` on the remaining instances.

    The first search may do a small share of the work of `elimination`. If tables could not be
    filled before the time limit, `dual_ascent` gets all of the time.
    """

    def turns(self, problem: LabelProblem, deadline: Deadline) -> Iterator[Turn[LabelSolver]]:
        """Yield the search by messages, then elimination if there is time for its tables."""
        entries = elimination_entries(problem)
        if problem.batch * entries * SECONDS_AN_ENTRY > deadline.left:
            yield Turn(_messages())
            return
        visits = max(1, entries // ENTRIES_A_VISIT)
        yield Turn(_messages(visits=visits), may_fail=True)
        yield Turn(LABELS.solver_class("elimination")())

    def _searched(self, problem: LabelProblem, deadline: Deadline, search: Search) -> Maximiser:
        start = given_states(self.start, problem, np.int64)
        # Answers of the backends stay on the host, with one leading dimension.
        host = replace(problem.instances(slice(None)), home=home_of(problem.unary))
        outcome = search(host, deadline, start)
        return Maximiser(outcome.z, outcome.bound, outcome.stats)


def elimination_entries(problem: LabelProblem) -> int:
    """Return the entries of the tables of elimination; 0 if they do not fit into memory."""
    elimination = LABELS.solver_class("elimination")
    if elimination().why_not(problem):
        return 0
    return elimination.entries(problem)  # type: ignore[no-any-return]  # it is a number


def _messages(**options: Any) -> LabelSolver:
    solver: LabelSolver = LABELS.solver_class("dual_ascent")().with_options(**options)
    return solver
