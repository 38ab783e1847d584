"""Represent linear constraints as lists of their entries, and propagate the values they force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...arrays import States

if TYPE_CHECKING:
    from jaxtyping import Bool, Int

FREE = -1
"""The value of a variable that the constraints leave free."""

MOST_ROUNDS = 100
"""Maximum number of rounds of propagation; any number of them is valid."""


class Constraints(Protocol):
    """The shape of constraints in whole numbers: low <= matrix z <= high."""

    @property
    def matrix(self) -> Int[np.ndarray, "c n"]:
        """`[c, n]`, the coefficients."""

    @property
    def low(self) -> Int[np.ndarray, "c"]:
        """`[c]`, the least allowed sums."""

    @property
    def high(self) -> Int[np.ndarray, "c"]:
        """`[c]`, the largest allowed sums."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the constraints in messages."""


@dataclass(frozen=True, eq=False)
class LinearRows:
    """Constraints low <= sum_i weight_i z_i <= high, one per row, without zero weights.

    Attributes:
        n: number of variables.
        row: `[entries]`, the constraint of each entry, ascending.
        column: `[entries]`, its variable.
        weight: `[entries]`, int64, its coefficient.
        low: `[c]`, int64.
        high: `[c]`, int64.
        names: `[c]`.
    """

    n: int
    row: Int[np.ndarray, "entries"]
    column: Int[np.ndarray, "entries"]
    weight: Int[np.ndarray, "entries"]
    low: Int[np.ndarray, "c"]
    high: Int[np.ndarray, "c"]
    names: tuple[str, ...]

    @classmethod
    def of(cls, constraints: Constraints) -> LinearRows:
        """Return the entries of constraints, divided by the common factor of each constraint."""
        row, column = np.nonzero(constraints.matrix)
        factor = np.maximum(np.gcd.reduce(constraints.matrix, axis=1, initial=0), 1)
        weight = np.asarray(constraints.matrix[row, column], np.int64) // factor[row]
        low = -(-constraints.low // factor)
        high = constraints.high // factor
        return cls(constraints.matrix.shape[1], row, column, weight, low, high, constraints.names)

    def sums(self, values: Int[np.ndarray, "entries"]) -> Int[np.ndarray, "c"]:
        """Return the exact sum of whole numbers, one per entry, over each row."""
        total = np.zeros(len(self.low), np.int64)
        np.add.at(total, self.row, values)
        return total

    def activity(self, z: np.ndarray) -> Int[np.ndarray, "c"]:
        """Return the left sides at a state `[n]`."""
        return self.sums(self.weight * z[self.column])

    def satisfied(self, z: States) -> Bool[np.ndarray, "states"]:
        """Return whether each of the states `[states, n]` satisfies all constraints."""
        sums = np.array([self.activity(state) for state in z]).reshape(len(z), len(self.low))
        return np.asarray(((sums >= self.low) & (sums <= self.high)).all(axis=1))

    def implied(self) -> np.ndarray | None:
        """Return the values `[n]` that the constraints force, -1 where free; None if infeasible.

        Each row is used alone, again and again. If a value of a variable moves the least sum of its
        row above `high`, or the largest sum below `low`, the variable has the other value.
        """
        values = np.full(self.n, FREE, np.int8)
        for _ in range(MOST_ROUNDS):
            forced = self._forced(values)
            if forced is None:
                return None
            if (forced == values).all():
                break
            values = forced
        return values

    def _forced(self, values: np.ndarray) -> np.ndarray | None:
        """Return `values` after one step of propagation; None where they contradict each other."""
        current = values[self.column]
        free = current == FREE
        at_one = np.where(current == 1, self.weight, 0)
        # The least and the largest activity that the free variables can still reach.
        least = self.sums(np.where(free, np.minimum(self.weight, 0), at_one))
        largest = self.sums(np.where(free, np.maximum(self.weight, 0), at_one))
        if (least > self.high).any() or (largest < self.low).any():
            return None
        size = np.abs(self.weight)
        # A weight that does not fit, however the other free variables are set, forces its variable.
        too_much = free & (least[self.row] + size > self.high[self.row])
        too_little = free & (largest[self.row] - size < self.low[self.row])
        positive = self.weight > 0
        zeros = self.column[(too_much & positive) | (too_little & ~positive)]
        ones = self.column[(too_much & ~positive) | (too_little & positive)]
        forced = values.copy()
        forced[zeros] = 0
        # One constraint forces to 0 what another forces to 1.
        if (forced[ones] == 0).any():
            return None
        forced[ones] = 1
        return forced

    def most_ones(self) -> int:
        """Return an upper bound on the number of ones in a state that satisfies the constraints."""
        most = self.n
        ends = np.searchsorted(self.row, np.arange(len(self.low) + 1))
        for number, high in enumerate(self.high.tolist()):
            weights = self.weight[ends[number] : ends[number + 1]]
            if len(weights) and weights[0] > 0 and (weights > 0).all():
                # The smallest weights first: no choice fits more ones under the limit.
                fitting = int(np.count_nonzero(np.cumsum(np.sort(weights)) <= high))
                most = min(most, self.n - len(weights) + fitting)
        return most
