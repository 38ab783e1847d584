"""Solve a batch of constrained problems with a backend that builds a model of each instance."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
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

AGAIN_SHARE = 0.1
"""Maximum share of the remaining time for continuing that search after the bound."""

AGAIN_SECONDS = 0.6
"""Maximum time, in seconds, for continuing that search after the bound."""

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

The search for a first state goes through three times as many."""

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

    `_Instance` lists the steps for one instance, and their order.

    Args:
        problem: the batch, with coefficients on the host.
        constraints: linear constraints on the variables.
        deadline: the deadline of the batch.
        solve_one: the backend, called for one instance.
        start: `[batch, n]`, initial states; those that violate constraints are repaired.

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
        # An equal share of the remaining time; time that an instance does not use passes to the
        # next.
        share = deadline.within(deadline.left / (problem.batch - b))
        first = None
        if start is not None:
            first = start[b]
        state, bound = batch.instance(b, share, first).solved()
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

    def instance(self, b: int, deadline: Deadline, start: np.ndarray | None) -> _Instance:
        """Return an instance whose search knows the states at hand.

        Args:
            b: its place in the batch.
            deadline: its share of the time.
            start: `[n]`, the user's state, or None.
        """
        whole = self.problem
        # No state that satisfies the constraints has both variables of an excluded pair.
        pairwise = np.where(self.excluded, 0.0, whole.pairwise[b])
        single = single_instance(whole.unary[b], pairwise, whole.topology.pairs)
        deadline = deadline.within_whole(single, partial(Known._replace, rows=slice(b, b + 1)))
        search = ConstrainedSearch(single, self.rows, self.values, seed=b)
        # The user's state comes first, so that no answer is worse.
        if start is not None:
            search.take(start)
        for state in (self.filled(0), self.filled(1), *self.solutions):
            search.take(state)
        return _Instance(self, single, search, deadline, start)

    def filled(self, value: int) -> np.ndarray:
        """Return the state `[n]` in which all free variables have one value."""
        return np.where(self.values < 0, value, self.values).astype(np.int8)


@dataclass(eq=False)
class _Instance:
    """The search for the best state of one instance, by steps that stop once it is proved.

    Attributes:
        batch: what the instances share.
        single: the instance.
        search: the local search, which keeps the best state.
        deadline: the deadline of this instance.
        start: `[n]`, the user's state, or None.
        bound: the lowest upper bound on the score so far.
        cut: whether the clock ended the local search before the backend.
    """

    batch: _Batch
    single: Problem
    search: ConstrainedSearch
    deadline: Deadline
    start: np.ndarray | None
    bound: float = math.inf
    cut: bool = False

    def solved(self) -> tuple[np.ndarray | None, float]:
        """Return the best state of the instance, or None, and an upper bound on its score."""
        for step in self._steps():
            step()
            if self._proved:
                break
        return self.search.state, self.bound

    def _steps(self) -> tuple[Callable[[], None], ...]:
        """Return the steps in their order.

        With pairs, local search and bound come first, because they often prove the instance or give
        the backend a good state. Without pairs the backend is faster alone, so they come after it.
        """
        if self._has_pairs:
            return (
                self._begin,
                self._bound_in_time,
                self._continue,
                self._ask_backend,
                self._improve,
            )
        return (
            self._assign,
            self._begin_quickly,
            self._ask_backend,
            self._lower_bound,
            self._begin,
            self._improve,
        )

    @cached_property
    def _has_pairs(self) -> bool:
        return bool(self.single.pairwise.any())

    @property
    def _proved(self) -> bool:
        """Whether the bound proves the best state."""
        if self.search.state is None or self.bound == math.inf:
            return False
        return bool(self.bound - self._score <= self.single.rounding[0])

    @property
    def _score(self) -> float:
        """The score of the best state, minus infinity without one."""
        if self.search.state is None:
            return -math.inf
        return float(self.single.score_flat(self.search.state[None])[0])

    @property
    def _repair_flips(self) -> int:
        """Flips that look for a first state."""
        return max(LEAST_REPAIR, REPAIR_FLIPS * self.single.n)

    def _late_flips(self, entries: int) -> int:
        """Return the flips after the time limit that go through at most `entries` entries."""
        flip = self.single.n + len(self.batch.rows.row)
        return min(self._repair_flips, entries // flip)

    @property
    def _exchanges_alone(self) -> bool:
        """Whether the search should exchange only: a flip leaves an assignment for long."""
        assignment = self.batch.assignment
        exact = assignment is not None and assignment.exact
        return exact and self.search.state is not None and self.search.exchanges

    def _assign(self) -> None:
        """Solve an assignment of a linear objective, and lower the bound by its prices."""
        batch = self.batch
        if batch.assignment is None:
            return
        worth = np.asarray(self.single.unary[0], np.float64)
        assigned = batch.assignment.best(worth, self.deadline)
        if assigned is None:
            return
        self.search.take(np.where(batch.values == FREE, assigned.z, batch.values))
        multiplier = np.zeros(len(batch.rows.low))
        multiplier[batch.groups.row] = assigned.price
        self.bound = min(self.bound, bound_by(self.single, batch.rows, batch.values, multiplier))

    def _begin(self) -> None:
        """Search for a first state by the constraints alone, then improve it by local search."""
        n = self.single.n
        if self.batch.assignment is not None:
            self.search.assign(self.deadline)
        self._repair()
        # An instance that is small and the first of its batch is searched after the time limit too.
        flips_in_any_case = 0
        if not self.batch.solutions and n + self.single.e <= MOST_CLIMBED:
            flips_in_any_case = self._late_flips(MOST_LATE)
        if self.search.state is not None and self.deadline.passed and not flips_in_any_case:
            return
        self.search.fill(self._soon(FIRST_SHARE, FIRST_SECONDS))
        if self._exchanges_alone:
            soon = self._soon(2 * FIRST_SHARE, 2 * FIRST_SECONDS)
            self.search.exchange(FIRST_FLIPS * n, soon)
            self.cut = soon.passed
            return
        origin = self.start
        if origin is None:
            origin = self._state_or(self.batch.filled(0))
        flips = flips_in_any_case + FIRST_FLIPS * n
        self.search.run(origin, flips, self._soon(FIRST_SHARE, FIRST_SECONDS), flips_in_any_case)
        moves = min(FIRST_FLIPS, n // 4) * n
        soon = self._soon(FIRST_SHARE, FIRST_SECONDS)
        self.search.exchange(moves, soon)
        self.cut = soon.passed

    def _begin_quickly(self) -> None:
        """Search for a good state in case that the time limit stops the backend too early."""
        if not math.isfinite(self.deadline.left) or self.deadline.passed:
            return
        self._repair()
        soon = self._soon(FIRST_SHARE, LINEAR_FIRST_SECONDS)
        self.search.fill(soon)
        self.search.exchange(FIRST_FLIPS * self.single.n, soon)

    def _repair(self) -> None:
        """Search for a first state by the constraints alone, if there is none."""
        if self.search.state is not None:
            return
        begin = self.start
        if begin is None:
            begin = self.batch.filled(0)
        nothing = np.zeros((0, 2), np.int64)
        alone = single_instance(np.zeros(self.single.n), np.zeros(0), nothing)
        repair = ConstrainedSearch(alone, self.batch.rows, self.batch.values)
        late = self._late_flips(3 * MOST_LATE)
        repair.run(begin, self._repair_flips, self.deadline, late)
        if repair.state is not None:
            self.search.take(repair.state)

    def _bound_in_time(self) -> None:
        """Lower the bound, unless there is a state and no time."""
        if self.search.state is None or not self.deadline.passed:
            self._lower_bound()

    def _lower_bound(self) -> None:
        """Lower the bound by multipliers of the constraints."""
        # A backend proves a small instance as soon as multipliers of pairs would.
        enough = math.inf
        if self._has_pairs and self.single.n > SMALL:
            enough = self._score
        soon = self._soon(BOUND_SHARE, BOUND_SECONDS)
        bound = bound_within(self.single, self.batch.rows, self.batch.values, soon, enough)
        self.bound = min(self.bound, bound)

    def _continue(self) -> None:
        """Continue a local search that the clock ended: the bound may prove a better state."""
        if self.cut:
            soon = self._soon(AGAIN_SHARE, AGAIN_SECONDS)
            self.search.exchange(FIRST_FLIPS * self.single.n, soon)

    def _ask_backend(self) -> None:
        """Offer the state of the backend to the search, and lower the bound to that of the backend.

        Raises:
            SolveFailedError: the backend reports that there is no state, and the search has one.
        """
        if self.deadline.passed:
            return
        share = self.deadline
        # The last seconds are for the local search after the backend.
        if math.isfinite(self.deadline.left):
            last_share = LINEAR_LAST_SHARE
            if self._has_pairs:
                last_share = LAST_SHARE
            last = min(last_share * self.deadline.left, MOST_LAST)
            share = self.deadline.within(self.deadline.left - last)
        try:
            state, bound = self.batch.solve_one(self.single, share, self.search.state)
        except InfeasibleError as error:
            # A feasible state refutes the backend.
            if self.search.state is None:
                raise
            raise SolveFailedError(
                "a backend reports that no state satisfies the constraints, but local search has "
                "one that does. This is a fault of the backend; choose another with solver=..."
            ) from error
        if state is not None:
            self.search.take(state)
        self.bound = min(self.bound, bound)

    def _improve(self) -> None:
        """Search locally in the time that the backend left."""
        if not math.isfinite(self.deadline.left) or self.deadline.left <= LEAST_LAST:
            return
        origin = self._state_or(np.zeros(self.single.n, np.int8))
        moves = LAST_MOVES * self.single.n
        while not self.deadline.passed:
            self.search.exchange(moves, self.deadline)
            if not self._exchanges_alone:
                self.search.run(origin, moves, self.deadline)

    def _state_or(self, other: np.ndarray) -> np.ndarray:
        """Return the best state, or another one if there is none."""
        if self.search.state is None:
            return other
        return self.search.state

    def _soon(self, share: float, seconds: float) -> Deadline:
        """Return a deadline at a share of the remaining time, at most so many seconds away."""
        return self.deadline.within(min(share * self.deadline.left, seconds))
