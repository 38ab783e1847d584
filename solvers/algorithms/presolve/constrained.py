"""A batch of constrained problems for backends that build a model of each instance: a local search comes first."""

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
from ...problem import Problem
from ...solution import Maximiser
from ..constrained_search.bound import bound_within
from ..constrained_search.linear_rows import Constraints, LinearRows
from ..constrained_search.search import ConstrainedSearch
from .decomposition import single_instance

MOST_WHOLE = 10**6
"""Largest sum of the magnitudes of a constraint's coefficients for solvers in floating point: their tolerances, of 1e-9
and less, are then no part of a unit."""

FIRST_SHARE, FIRST_SECONDS, FIRST_FLIPS = 0.1, 0.3, 20
"""Share of the time, seconds and flips per variable at most for the local search before the backend."""

LAST_SHARE, MOST_LAST, LEAST_LAST = 0.1, 30.0, 0.005
"""Share of the time and seconds at most for the local search after the backend, and the least that is worth it."""

MOST_FLIPS = 1 << 40
"""More than any time limit allows."""

MOST_CLIMBED = 300_000
"""Variables and pairs of an instance that is climbed even after the time limit: hundredths of a second."""

REPAIR_FLIPS, LEAST_REPAIR = 2, 300
"""Flips per variable, and in all, that look for a first state or climb from it even after the time limit."""

SolveWithin: TypeAlias = Callable[
    [Problem, Deadline, np.ndarray | None], tuple[np.ndarray | None, float]
]
"""(a single instance, when to end, a state `[n]` that satisfies the constraints or None) -> its state
`[n]`, None where none was found, and an upper bound on its score."""


def each_instance(
    problem: Problem,
    constraints: Constraints,
    time_limit: float | None,
    solve_one: SolveWithin,
    start: States | None = None,
) -> Maximiser:
    """Solve one instance after the other within one time limit; -1 marks a state that was not found.

    A local search gives the backend a first state, and continues where the backend ends without a
    proof.

    Args:
        problem: coefficients on the host.
        constraints: of its variables.
        time_limit: seconds for the batch.
        solve_one: the backend.
        start: `[batch, n]`, states to begin with; those that violate constraints are repaired.

    Raises:
        InfeasibleError: no state satisfies the constraints.
    """
    deadline, rows = Deadline.after(time_limit), LinearRows.of(constraints)
    values = rows.implied()
    if values is None:
        raise InfeasibleError(rows.names)
    batch = _Batch(problem, rows, values, solve_one, [])
    z, bounds = np.full((problem.batch, problem.n), -1, np.int8), np.array(problem.positive_part)
    for b in range(problem.batch):
        share = deadline.within(deadline.left / (problem.batch - b))
        state, bound = batch.solved(b, share, None if start is None else start[b])
        bounds[b] = min(bounds[b], bound)
        if state is not None:
            z[b] = state
            batch.known.append(state)
    return Maximiser(z, bounds)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Instances under the same constraints.

    Attributes:
        problem: all of them.
        rows: the constraints.
        values: `[n]`, the values that these force, -1 for free variables.
        solve_one: the backend.
        known: states `[n]` of other instances, which satisfy the constraints.
    """

    problem: Problem
    rows: LinearRows
    values: np.ndarray
    solve_one: SolveWithin
    known: list[np.ndarray]

    def solved(
        self, b: int, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray | None, float]:
        """Return the best state of an instance, None where none was found, and an upper bound."""
        whole = self.problem
        single = single_instance(whole.unary[b], whole.pairwise[b], whole.topology.pairs)
        deadline = deadline.within_whole(single, partial(Known._replace, part=slice(b, b + 1)))
        search = ConstrainedSearch(single, self.rows, self.values, seed=b)
        self._begin(search, deadline, start)
        if search.state is not None and deadline.passed:
            return search.state, math.inf
        bound = bound_within(single, self.rows, self.values, deadline.within(FIRST_SECONDS))
        if _proved(single, search.state, bound):
            return search.state, bound
        last = min(LAST_SHARE * deadline.left, MOST_LAST)
        bound = min(bound, self._by_backend(search, single, deadline, last))
        if (
            math.isfinite(deadline.left)
            and deadline.left > LEAST_LAST
            and not _proved(single, search.state, bound)
        ):
            self._improve(search, deadline)
        return search.state, bound

    def _begin(
        self, search: ConstrainedSearch, deadline: Deadline, start: np.ndarray | None
    ) -> None:
        """Look for a first state: one that is known or trivial, then a better one by local search."""
        zeros = np.where(self.values < 0, 0, self.values).astype(np.int8)
        ones = np.where(self.values < 0, 1, self.values).astype(np.int8)
        given = [] if start is None else [start]
        for state in (*given, zeros, ones, *self.known):
            search.take(state)
        small = self.problem.n + self.problem.e <= MOST_CLIMBED
        least = max(LEAST_REPAIR, REPAIR_FLIPS * self.problem.n)
        if search.state is None and not small:
            self._repair(search, zeros if start is None else start, least)
        if self.known or not small:
            least = 0
        if search.state is not None and deadline.passed and not least:
            return
        begin = search.state if start is None else start
        soon = deadline.within(min(FIRST_SHARE * deadline.left, FIRST_SECONDS))
        flips = least + FIRST_FLIPS * self.problem.n
        search.run(zeros if begin is None else begin, flips, soon, least)

    def _repair(self, search: ConstrainedSearch, begin: np.ndarray, flips: int) -> None:
        """Look for a first state of a large instance by its constraints alone."""
        nothing = np.zeros((0, 2), np.int64)
        alone = single_instance(np.zeros(self.problem.n), np.zeros(0), nothing)
        repair = ConstrainedSearch(alone, self.rows, self.values)
        repair.run(begin, flips, Deadline.after(0.0), flips)
        if repair.state is not None:
            search.take(repair.state)

    def _by_backend(
        self, search: ConstrainedSearch, single: Problem, deadline: Deadline, last: float
    ) -> float:
        """Ask the backend, and return its bound."""
        if deadline.passed:
            return math.inf
        share = deadline.within(deadline.left - last) if math.isfinite(deadline.left) else deadline
        try:
            state, bound = self.solve_one(single, share, search.state)
        except InfeasibleError as error:
            if search.state is None:
                raise
            raise SolveFailedError(
                "a backend says that no state satisfies the constraints, and local search has one: a fault of the "
                "backend. Take another one"
            ) from error
        if state is not None:
            search.take(state)
        return bound

    def _improve(self, search: ConstrainedSearch, deadline: Deadline) -> None:
        """Use the time that the backend left."""
        begin = np.zeros(self.problem.n, np.int8) if search.state is None else search.state
        search.run(begin, MOST_FLIPS, deadline)


def _proved(single: Problem, state: np.ndarray | None, bound: float) -> bool:
    if state is None:
        return False
    return bool(bound - single.score_flat(state[None])[0] <= single.rounding[0])
