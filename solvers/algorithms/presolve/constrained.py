"""Solve a batch of constrained problems with a backend that builds a model of each instance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from ...arrays import States
from ...errors import InfeasibleError, SolveFailedError
from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problems.problem import Problem
from ...solution import Maximiser
from ..constrained_search.assignment import Assignment
from ..constrained_search.bound import bound_by, bound_within
from ..constrained_search.groups import Groups
from ..constrained_search.linear_rows import FREE, Constraints, LinearRows
from ..constrained_search.search import ConstrainedSearch
from .decomposition import single_instance

MOST_WHOLE = 10**6
"""Largest sum of the magnitudes of a constraint's coefficients for solvers in floating point.

Their tolerances, of 1e-9 and less, are then far below one unit."""

FIRST_SHARE = 0.1
"""Maximum share of the remaining time for the local search before the backend."""

FIRST_SECONDS = 0.3
"""Maximum time, in seconds, of the local search before the backend."""

FIRST_FLIPS = 20
"""Maximum number of flips per variable in the local search before the backend."""

BOUND_SHARE = 0.2
"""Maximum share of the remaining time for the bound before the backend."""

BOUND_SECONDS = 10.0
"""Maximum time, in seconds, of the bound before the backend."""

SMALL = 30
"""Number of variables up to which backends prove as soon as the bound of pairs in groups ends."""

LAST_SHARE = 0.1
"""Maximum share of the remaining time for the local search after the backend."""

MOST_LAST = 30.0
"""Maximum time, in seconds, of the local search after the backend."""

LINEAR_FIRST_SECONDS = 0.01
"""Maximum time, in seconds, of the local search before the backend for a linear objective.

Greedy filling and a few exchanges reach a local optimum in that time, up to 1,000 variables.
"""

LINEAR_LAST_SHARE = 0.2
"""Maximum share of the remaining time for the local search after it, for a linear objective."""

LEAST_LAST = 0.005
"""Least remaining time, in seconds, for which a local search after the backend is worthwhile."""

LAST_MOVES = 40
"""Moves per variable, after the backend, after which the two forms of local search alternate."""

MOST_CLIMBED = 300_000
"""Largest number of variables and pairs of an instance that is searched after the time limit.

A search of that size takes hundredths of a second."""

MOST_LATE = 5_000_000
"""Entries of constraints that a local search goes through after the time limit, at most.

A first state is worth three times as many."""

REPAIR_FLIPS = 2
"""Flips per variable that look for a first state even after the time limit."""

LEAST_REPAIR = 300
"""Minimum number of flips that look for a first state even after the time limit."""

SolveWithin: TypeAlias = Callable[
    [Problem, Deadline, np.ndarray | None], tuple[np.ndarray | None, float]
]
"""Solve one instance: (single instance, deadline, feasible state `[n]` or None) -> answer.

The answer is a state `[n]`, or None without a solution, and an upper bound on the score."""


def each_instance(
    problem: Problem,
    constraints: Constraints,
    deadline: Deadline,
    solve_one: SolveWithin,
    start: States | None = None,
) -> Maximiser:
    """Solve one instance after the other within one time limit; -1 marks a missing state.

    A local search gives the backend a first state. It continues where the backend ends without an
    optimality certificate. Where no pair has a score, the backend is faster alone: at most a few
    exchanges come before it, and local search and bounds follow only if it has no certificate.

    Args:
        problem: the batch, with coefficients on the host.
        constraints: linear constraints on the variables.
        deadline: of the batch.
        solve_one: the backend, called for one instance.
        start: `[batch, n]`, states to begin with; those that violate constraints are repaired.

    Raises:
        InfeasibleError: no state satisfies the constraints.
    """
    rows = LinearRows.of(constraints)
    # Propagation alone may fix variables, or prove that no state exists.
    values = rows.implied()
    if values is None:
        raise InfeasibleError(rows.names)
    groups = Groups.of(rows, values)
    assignment = Assignment.of(groups, values == FREE)
    # No state has both variables of an exclusive group at 1, whatever their pair scores.
    excluded = groups.exclusive()[tuple(problem.topology.pairs.T)]
    batch = _Batch(problem, rows, values, groups, assignment, excluded, solve_one, [])
    z = np.full((problem.batch, problem.n), -1, np.int8)
    # The sum of all positive scores is a bound without any search.
    bounds = np.array(problem.positive_part)
    for b in range(problem.batch):
        # An equal share of what is left: time that an instance does not use passes to the next.
        share = deadline.within(deadline.left / (problem.batch - b))
        first = None if start is None else start[b]
        state, bound = batch.solved(b, share, first)
        bounds[b] = min(bounds[b], bound)
        if state is not None:
            z[b] = state
            # A solution is feasible for the later instances too, since they share the constraints.
            batch.solutions.append(state)
    return Maximiser(z, bounds)


@dataclass(frozen=True, eq=False)
class _Batch:
    """A batch of instances under the same constraints.

    Attributes:
        problem: the whole batch.
        rows: the constraints.
        values: `[n]`, the values that the constraints force, -1 for free variables.
        groups: groups of free variables of which at most one is 1.
        assignment: the assignment that they make; None for other groups.
        excluded: `[e]`, whether a constraint excludes that both variables of a pair are 1.
        solve_one: the backend, called for one instance.
        solutions: feasible states `[n]` of the instances so far.
    """

    problem: Problem
    rows: LinearRows
    values: np.ndarray
    groups: Groups
    assignment: Assignment | None
    excluded: np.ndarray
    solve_one: SolveWithin
    solutions: list[np.ndarray]

    def solved(
        self, b: int, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray | None, float]:
        """Return the best state of an instance, or None, and an upper bound on its score."""
        whole = self.problem
        # No state that satisfies the constraints has both variables of an excluded pair.
        pairwise = np.where(self.excluded, 0.0, whole.pairwise[b])
        single = single_instance(whole.unary[b], pairwise, whole.topology.pairs)
        deadline = deadline.within_whole(single, partial(Known._replace, part=slice(b, b + 1)))
        search = ConstrainedSearch(single, self.rows, self.values, seed=b)
        # The user's state comes first, so that no answer is worse.
        self._offer(search, start)
        # Without pairs the backend is faster alone, so only a few exchanges come before it.
        if not single.pairwise.any():
            return self._solved_linear(search, single, deadline, start)
        self._begin(search, deadline, start)
        if search.state is not None and deadline.passed:
            return search.state, math.inf
        soon = deadline.within(min(BOUND_SHARE * deadline.left, BOUND_SECONDS))
        # A backend proves a small instance as soon as the bound would be found.
        enough = _least(single, search.state) if single.n > SMALL else math.inf
        bound = bound_within(single, self.rows, self.values, soon, enough)
        if _proved(single, search.state, bound):
            return search.state, bound
        last = min(LAST_SHARE * deadline.left, MOST_LAST)
        bound = min(bound, self._by_backend(search, single, deadline, last))
        self._improve(search, single, deadline, bound)
        return search.state, bound

    def _solved_linear(
        self,
        search: ConstrainedSearch,
        single: Problem,
        deadline: Deadline,
        start: np.ndarray | None,
    ) -> tuple[np.ndarray | None, float]:
        """Return what `solved` does for a linear objective: the backend searches early."""
        bound = self._by_assignment(search, single, deadline)
        if _proved(single, search.state, bound):
            return search.state, bound
        self._begin_quickly(search, deadline, start)
        last = min(LINEAR_LAST_SHARE * deadline.left, MOST_LAST)
        bound = min(bound, self._by_backend(search, single, deadline, last))
        if _proved(single, search.state, bound):
            return search.state, bound
        soon = deadline.within(min(BOUND_SHARE * deadline.left, BOUND_SECONDS))
        bound = min(bound, bound_within(single, self.rows, self.values, soon, math.inf))
        self._begin(search, deadline, start)
        self._improve(search, single, deadline, bound)
        return search.state, bound

    def _by_assignment(
        self, search: ConstrainedSearch, single: Problem, deadline: Deadline
    ) -> float:
        """Offer the best assignment of a linear objective; return the bound that it proves."""
        if self.assignment is None:
            return math.inf
        assigned = self.assignment.best(np.asarray(single.unary[0], np.float64), deadline)
        if assigned is None:
            return math.inf
        search.take(np.where(self.values == FREE, assigned.z, self.values))
        multiplier = np.zeros(len(self.rows.low))
        multiplier[self.groups.row] = assigned.price
        return bound_by(single, self.rows, self.values, multiplier)

    def _offer(self, search: ConstrainedSearch, start: np.ndarray | None) -> None:
        """Offer the states at hand to the search."""
        starts = [] if start is None else [start]
        for state in (*starts, self._filled(0), self._filled(1), *self.solutions):
            search.take(state)

    @property
    def _least_flips(self) -> int:
        """Flips that look for a first state even after the time limit."""
        return max(LEAST_REPAIR, REPAIR_FLIPS * self.problem.n)

    def _late_flips(self, entries: int) -> int:
        """Flips after the time limit, if all of them go through so many entries of constraints."""
        flip = self.problem.n + len(self.rows.row)
        return min(self._least_flips, entries // flip)

    def _exchanges_alone(self, search: ConstrainedSearch) -> bool:
        """Whether the search should exchange only: a flip leaves an assignment for long."""
        exact = self.assignment is not None and self.assignment.exact
        return exact and search.state is not None and search.exchanges

    def _filled(self, value: int) -> np.ndarray:
        """Return the state `[n]` in which all free variables have one value."""
        return np.where(self.values < 0, value, self.values).astype(np.int8)

    def _begin(
        self, search: ConstrainedSearch, deadline: Deadline, start: np.ndarray | None
    ) -> None:
        """Look for a first state by the constraints alone, then improve it by local search."""
        zeros = self._filled(0)
        small = self.problem.n + self.problem.e <= MOST_CLIMBED
        least = self._late_flips(MOST_LATE)
        first = zeros if start is None else start
        if self.assignment is not None:
            search.assign(deadline)
        if search.state is None:
            self._repair(search, first, deadline)
        if self.solutions or not small:
            least = 0
        if search.state is not None and deadline.passed and not least:
            return
        soon = deadline.within(min(FIRST_SHARE * deadline.left, FIRST_SECONDS))
        search.fill(soon)
        begin = start
        if begin is None:
            begin = zeros if search.state is None else search.state
        if self._exchanges_alone(search):
            soon = deadline.within(min(2 * FIRST_SHARE * deadline.left, 2 * FIRST_SECONDS))
            search.exchange(FIRST_FLIPS * self.problem.n, soon)
            return
        flips = least + FIRST_FLIPS * self.problem.n
        search.run(begin, flips, soon, least)
        soon = deadline.within(min(FIRST_SHARE * deadline.left, FIRST_SECONDS))
        moves = min(FIRST_FLIPS, self.problem.n // 4) * self.problem.n
        search.exchange(moves, soon)

    def _begin_quickly(
        self, search: ConstrainedSearch, deadline: Deadline, start: np.ndarray | None
    ) -> None:
        """Look for a good state in case that the time limit stops the backend too early."""
        if not math.isfinite(deadline.left) or deadline.passed:
            return
        if search.state is None:
            first = self._filled(0) if start is None else start
            self._repair(search, first, deadline)
        soon = deadline.within(min(FIRST_SHARE * deadline.left, LINEAR_FIRST_SECONDS))
        search.fill(soon)
        search.exchange(FIRST_FLIPS * self.problem.n, soon)

    def _repair(self, search: ConstrainedSearch, begin: np.ndarray, deadline: Deadline) -> None:
        """Look for a first state by the constraints alone."""
        nothing = np.zeros((0, 2), np.int64)
        alone = single_instance(np.zeros(self.problem.n), np.zeros(0), nothing)
        repair = ConstrainedSearch(alone, self.rows, self.values)
        repair.run(begin, self._least_flips, deadline, self._late_flips(3 * MOST_LATE))
        if repair.state is not None:
            search.take(repair.state)

    def _by_backend(
        self, search: ConstrainedSearch, single: Problem, deadline: Deadline, last: float
    ) -> float:
        """Ask the backend for a state, offer it to the search and return the backend's bound."""
        if deadline.passed:
            return math.inf
        share = deadline
        # The last seconds are for the local search after the backend.
        if math.isfinite(deadline.left):
            share = deadline.within(deadline.left - last)
        try:
            state, bound = self.solve_one(single, share, search.state)
        except InfeasibleError as error:
            # A feasible state refutes the backend.
            if search.state is None:
                raise
            raise SolveFailedError(
                "a backend reports that no state satisfies the constraints, but local search has "
                "one that does. This is a fault of the backend; choose another with solver=..."
            ) from error
        if state is not None:
            search.take(state)
        return bound

    def _improve(
        self, search: ConstrainedSearch, single: Problem, deadline: Deadline, bound: float
    ) -> None:
        """Search locally in the time that the backend left, unless the best state is proved."""
        if not math.isfinite(deadline.left) or deadline.left <= LEAST_LAST:
            return
        if _proved(single, search.state, bound):
            return
        begin = np.zeros(self.problem.n, np.int8) if search.state is None else search.state
        while not deadline.passed:
            search.exchange(LAST_MOVES * self.problem.n, deadline)
            if not self._exchanges_alone(search):
                search.run(begin, LAST_MOVES * self.problem.n, deadline)


def _least(single: Problem, state: np.ndarray | None) -> float:
    """Return the score of a state, minus infinity without one."""
    if state is None:
        return -math.inf
    return float(single.score_flat(state[None])[0])


def _proved(single: Problem, state: np.ndarray | None, bound: float) -> bool:
    if state is None:
        return False
    return bool(bound - _least(single, state) <= single.rounding[0])
