"""Search first where tables fit into memory but take long to fill.

Tables then solve the instances that the search left open.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..arrays import home_of
from ..errors import SolveFailedError
from ..limits.deadline import Deadline
from ..solution import Maximiser, Solution
from ..solver import Capabilities
from .problem import LabelProblem
from .registry import solver_class
from .solver import LabelSolver
from .starts import given_labels

SECONDS_AN_ENTRY = 4e-8
"""Of tables, about: those that would not be full in time are not begun."""

ENTRIES_A_VISIT = 4
"""Number of table entries per node that the first search may visit.

At this ratio the search takes about a twentieth of the tables' time.
"""

SEPARATOR = " + "
"""Between the names of the solvers that proved a part of the batch each."""


@dataclass(frozen=True)
class Portfolio(LabelSolver):
    """Run `dual_ascent` briefly, then `elimination` on the remaining instances.

    The first search may do a small share of the work of `elimination`.

    Where tables would not be full before the time limit, `dual_ascent` alone. `Solution.solver`
    names those that had a part of the batch.

    Attributes:
        start: labels `[..., n]` to start from, which broadcast to the batch; None for none.
    """

    start: Any = field(default=None, compare=False)

    name = "portfolio"
    capabilities = Capabilities(exact=True, time_limit=True)

    def _argmax(self, problem: LabelProblem, deadline: Deadline) -> Maximiser:
        tables = solver_class("elimination")()
        start = given_labels(self.start, problem)
        # Answers of the solvers in turn stay on the host, with one leading dimension.
        problem = replace(problem.instances(slice(None)), home=home_of(problem.unary))
        entries = elimination_entries(problem)
        if problem.batch * entries * SECONDS_AN_ENTRY > deadline.left:
            return _maximiser(_messages(start=start).solve_until(problem, deadline))
        found = _tried(problem, entries // ENTRIES_A_VISIT, deadline, start)
        if found is None:
            return _maximiser(tables.solve_until(problem, deadline))
        left = np.flatnonzero(~found.optimal)
        if not len(left):
            return _maximiser(found)
        rest = tables.solve_until(problem.instances(left), deadline)
        labels, bound = found.z.copy(), found.bound.copy()
        labels[left], bound[left] = rest.z, rest.bound
        solved = (found.solver,) if len(left) < problem.batch else ()
        return Maximiser(labels, bound, rest.stats, SEPARATOR.join((*solved, rest.solver)))


def elimination_entries(problem: LabelProblem) -> int:
    """Entries of the tables of elimination; 0 where they do not fit into memory."""
    elimination = solver_class("elimination")
    if elimination().why_not(problem):
        return 0
    return elimination.entries(problem)  # type: ignore[attr-defined, no-any-return]  # it has


def _tried(
    problem: LabelProblem, visits: int, deadline: Deadline, start: np.ndarray | None
) -> Solution | None:
    """What a search of so much work finds, if it finds allowed labels for all instances."""
    try:
        return _messages(visits=max(1, visits), start=start).solve_until(problem, deadline)
    except SolveFailedError:
        return None


def _messages(**options: Any) -> LabelSolver:
    return solver_class("dual_ascent")().with_options(**options)


def _maximiser(found: Solution) -> Maximiser:
    return Maximiser(found.z, found.bound, found.stats, found.solver)
