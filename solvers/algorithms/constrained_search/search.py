"""Tabu search by single flips on the score minus the prices of violated constraints."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from ...limits.deadline import Deadline
from ...limits.progress import Known
from ...problems.problem import Problem
from .exchanges import Exchanges, fits
from .linear_rows import FREE, LinearRows
from .neighbours import Neighbours

LOOKS = 8
"""Maximum number of flips between two checks of the time."""

LOOK_ENTRIES = 100_000
"""Entries of constraints that the flips between two checks of the time go through."""

LONGEST_TENURE = 12
"""Largest number of flips for which a flipped variable keeps its value."""

PATIENCE = 10
"""Flips per variable without a better state after which the search restarts near the best one."""

STREAK = 10
"""Flips in a row on one side of the feasible region's border after which prices change."""

PRICE_FACTOR = 1.3
"""Factor by which prices change."""

PRICE_RANGE = 1e4
"""Largest factor, up or down, between a price and its first value."""

KICKED = 0.08
"""Share of the free variables that a restart flips."""


@dataclass(eq=False)
class _Best:
    """The best feasible state; its score is minus infinity before the first."""

    z: np.ndarray | None = None
    score: float = -math.inf


@dataclass(frozen=True, eq=False)
class _Instance:
    """Data of an instance that stays the same during a search.

    Attributes:
        problem: a single instance.
        rows: its constraints.
        free: `[n]`, whether a variable may be flipped.
        pairs: the neighbours of each variable.
        rows_of: the constraints of each variable.
        low: `[entries]`, the lower limit of the constraint of each entry of `rows`.
        high: `[entries]`, its upper limit.
        prices: `[c]`, price of one unit of each constraint, in units of the largest gain: the
            smallest flip costs 1.
        tenure: largest number of flips for which a variable keeps its value.
    """

    problem: Problem
    rows: LinearRows
    free: np.ndarray
    pairs: Neighbours
    rows_of: Neighbours
    low: np.ndarray
    high: np.ndarray
    prices: np.ndarray
    tenure: int

    @classmethod
    def of(cls, problem: Problem, rows: LinearRows, free: np.ndarray) -> _Instance:
        """Prepare an instance, its constraints and its free variables for a search."""
        # The least weight of a row is the unit of its violation, so that rows are comparable.
        unit = np.full(len(rows.low), np.iinfo(np.int64).max)
        np.minimum.at(unit, rows.row, np.abs(rows.weight))
        return cls(
            problem,
            rows,
            free,
            Neighbours.of(problem),
            Neighbours.between(rows.column, rows.row, rows.weight, rows.n),
            rows.low[rows.row],
            rows.high[rows.row],
            1.0 / unit,
            max(1, min(LONGEST_TENURE, int(free.sum()) // 4)),
        )


class ConstrainedSearch:
    """Local search for one instance on both sides of the border of the feasible region.

    A flip costs, for each constraint, the price of every unit by which it increases the violation.
    Prices rise while constraints stay violated and fall while none is, so that the search crosses
    the border again and again (strategic oscillation). A swap within a group, or an exchange in an
    assignment, is a sequence of flips that leaves the feasible region and returns. A flip that
    leads to a better feasible state than any before is always taken.

    References:
        Glover, Hao (2011), The case for strategic oscillation.
    """

    def __init__(self, problem: Problem, rows: LinearRows, values: np.ndarray, seed: int = 0):
        """Prepare the search of an instance.

        Args:
            problem: a single instance on the host.
            rows: its constraints.
            values: `[n]`, the values of fixed variables, -1 for free ones.
            seed: seed of the random numbers.
        """
        self._problem = problem
        self._rows = rows
        self._values = values
        self._free = values == FREE
        self._generator = np.random.default_rng(seed)
        self._best = _Best()

    @cached_property
    def _instance(self) -> _Instance:
        return _Instance.of(self._problem, self._rows, self._free)

    @cached_property
    def _scored(self) -> bool:
        """Whether a score differs from 0; if none does, every feasible state is best."""
        return bool(self._problem.unary.any() or self._problem.pairwise.any())

    @cached_property
    def _exchanges(self) -> Exchanges:
        return Exchanges(self._problem, self._rows, self._values, self._generator)

    @property
    def exchanges(self) -> bool:
        """Whether the problem is small enough for exchanges."""
        return fits(self._problem, self._rows)

    @property
    def state(self) -> np.ndarray | None:
        """The best state `[n]` that satisfies the constraints, or None."""
        return self._best.z

    def take(self, z: np.ndarray) -> None:
        """Keep a state `[n]` if it satisfies the constraints and is better than the best one."""
        score = float(self._problem.score_flat(z[None])[0])
        if score > self._best.score and self._rows.satisfied(z[None])[0]:
            self._best = _Best(z.astype(np.int8), score)

    def run(self, begin: np.ndarray, flips: int, deadline: Deadline, least: int = 0) -> None:
        """Search from a state `[n]`, which may violate constraints.

        Args:
            begin: `[n]` of zeros and ones.
            flips: maximum number of flips.
            deadline: time at which the search ends.
            least: maximum number of flips after the deadline. They are made while there is no
                feasible state, or while the best one still improves.
        """
        # The walk keeps fixed variables at their values, so the start must have them.
        begin = np.where(self._free, begin, self._values).astype(np.int8)
        self.take(begin)
        if not self._free.any():
            return
        walk = _Walk(self._instance, begin, self._generator)
        looks = max(1, min(LOOKS, LOOK_ENTRIES // max(1, len(self._rows.row))))
        improved = 0
        for step in range(flips):
            if step % looks == 0:
                # After the deadline, continue only for a first state or while better ones are
                # found.
                climbs = self._best.z is None or improved > step - LOOKS
                if self._is_over(deadline, climbs and step < least):
                    return
            # After a long stretch without a better state, resume from a perturbed one.
            if step - improved > PATIENCE * len(begin):
                walk = _Walk(self._instance, self._kicked(walk.z), self._generator)
                improved = step
            walk.flip(walk.choice(self._best.score))
            if walk.feasible and walk.score > self._best.score:
                self._best = _Best(walk.z.astype(np.int8), walk.score)
                improved = step

    def _is_over(self, deadline: Deadline, goes_on: bool) -> bool:
        """Return whether a search ends here; if not, report the best state.

        Args:
            deadline: time at which the search ends.
            goes_on: whether the search continues after the deadline.
        """
        if self._best.z is not None and not self._scored:
            return True
        if deadline.passed and not goes_on:
            return True
        if self._best.z is not None:
            deadline.tell(partial(Known.of, self._best.z))
        return False

    def exchange(self, moves: int, deadline: Deadline) -> None:
        """Search from the best state among feasible states alone, if there is one.

        Args:
            moves: maximum number of moves.
            deadline: time at which the search ends.
        """
        if self._best.z is None or not self._free.any() or deadline.passed:
            return
        if not self.exchanges:
            return
        self.take(self._exchanges.run(self._best.z, moves, deadline))
        deadline.tell(partial(Known.of, self._best.z))

    def assign(self, deadline: Deadline) -> None:
        """Begin with an assignment, if the constraints are those of one.

        Args:
            deadline: time at which the search ends.
        """
        if self.exchanges:
            state = self._exchanges.assigned(deadline)
            if state is not None:
                self.take(state)

    def fill(self, deadline: Deadline) -> None:
        """Fill the state of zeros greedily, if it satisfies the constraints.

        Args:
            deadline: time after which the filling ends quickly.
        """
        zeros = np.where(self._free, 0, self._values).astype(np.int8)
        if not self._free.any() or not self.exchanges:
            return
        if self._rows.satisfied(zeros[None])[0]:
            self.take(self._exchanges.filled(zeros, deadline))

    def _kicked(self, z: np.ndarray) -> np.ndarray:
        """Return the best state, or `z` without one, after some random flips."""
        best = z
        if self._best.z is not None:
            best = self._best.z
        begin = best.astype(np.int8)
        free = np.flatnonzero(self._free)
        count = max(2, int(KICKED * len(free)))
        begin[self._generator.choice(free, min(count, len(free)), replace=False)] ^= 1
        return begin


class _Walk:
    """A state with all sums that a flip changes, and the prices of violated constraints.

    Attributes:
        z: `[n]`, int64.
        score: the score of `z`.
    """

    def __init__(self, instance: _Instance, begin: np.ndarray, generator: np.random.Generator):
        rows = instance.rows
        self._instance = instance
        self._generator = generator
        self.z = begin.astype(np.int64)
        self.score = float(instance.problem.score_flat(self.z[None])[0])
        self._field = instance.pairs.field(instance.problem.unary[0], self.z)
        self._activity = rows.activity(self.z)
        self._excess = _excess(self._activity, rows.low, rows.high)
        # Counting violated rows step by step makes the test of feasibility cheap.
        self._violated = int(np.count_nonzero(self._excess))
        self._tabu_until = np.zeros(len(begin), np.int64)
        self._clock = 0
        self._streak = 0
        # Prices are in the units of the scores, whatever their scale.
        self._scale = float(np.abs(self._field[instance.free]).max(initial=0.0)) or 1.0
        self._factor = np.ones(len(rows.low))

    @property
    def feasible(self) -> bool:
        """Whether the state satisfies all constraints."""
        return self._violated == 0

    def choice(self, best: float) -> int:
        """Return the variable to flip: one that beats `best`, else the best that is not tabu."""
        free = self._instance.free
        rows = self._instance.rows
        n = len(self.z)
        direction = 1 - 2 * self.z
        gain = direction * self._field
        after = self._activity[rows.row] + rows.weight * direction[rows.column]
        excess = _excess(after, self._instance.low, self._instance.high)
        before = self._excess[rows.row]
        # The change in the number of violated rows, for every flip at once.
        violated = np.bincount(rows.column, (excess > 0).astype(np.float64) - (before > 0), n)
        better = (
            free
            & (self._violated + violated == 0)
            & (self.score + gain > best + 1e-9 * self._scale)
        )
        if better.any():
            # Aspiration: a better feasible state is taken even if it is tabu.
            return int(np.where(better, gain, -np.inf).argmax())
        # The search minimises violations at adaptive prices: an infeasible state is a detour.
        price = self._scale * (self._instance.prices * self._factor)[rows.row]
        value = gain - np.bincount(rows.column, price * (excess - before), n)
        allowed = free & (self._tabu_until <= self._clock)
        # All are tabu: forgetting the list is better than standing still.
        if not allowed.any():
            allowed = free
        return int(np.where(allowed, value, -np.inf).argmax())

    def flip(self, i: int) -> None:
        """Flip variable i, and update all sums and prices."""
        instance = self._instance
        change = int(1 - 2 * self.z[i])
        self.score += change * float(self._field[i])
        self.z[i] += change
        near, weights = instance.pairs.of_one(i)
        self._field[near] += change * weights
        rows, weights = instance.rows_of.of_one(i)
        self._activity[rows] += change * weights
        excess = _excess(self._activity[rows], instance.rows.low[rows], instance.rows.high[rows])
        self._violated += int(np.count_nonzero(excess)) - int(np.count_nonzero(self._excess[rows]))
        self._excess[rows] = excess
        self._clock += 1
        self._tabu_until[i] = self._clock + int(self._generator.integers(1, instance.tenure + 1))
        self._reprice()

    def _reprice(self) -> None:
        """Raise the prices of constraints that stay violated; lower all after feasible steps."""
        # A change between feasible and infeasible begins a new streak.
        if (self._streak > 0) != self.feasible:
            self._streak = 0
        if self.feasible:
            self._streak += 1
        else:
            self._streak -= 1
        if abs(self._streak) < STREAK:
            return
        # After long feasibility cheaper violations let the
        # walk out; after long violation they drive it back.
        if self.feasible:
            self._factor = np.maximum(self._factor / PRICE_FACTOR, 1 / PRICE_RANGE)
        else:
            raised = np.minimum(self._factor * PRICE_FACTOR, PRICE_RANGE)
            self._factor = np.where(self._excess > 0, raised, self._factor)
        self._streak = 0


def _excess(activity: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return by how much left sides lie below or above their range."""
    return np.asarray(np.maximum(np.maximum(low - activity, activity - high), 0))
