"""Build lists of neighbours with weights: the pairs of a variable, and its constraints."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...problems.problem import Problem


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Lists of neighbours with weights, stored one after the other.

    Attributes:
        starts: `[n + 1]`, where the list of each variable starts.
        near: `[entries]`, the neighbours.
        weight: `[entries]`, their weights.
    """

    starts: np.ndarray
    near: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, problem: Problem) -> Neighbours:
        """Return the pairs of a single instance, each at both of its variables."""
        first, second = problem.topology.pairs.T
        weight = np.asarray(problem.pairwise[0], np.float64)
        owner = np.concatenate((first, second))
        near = np.concatenate((second, first))
        return cls.between(owner, near, np.concatenate((weight, weight)), problem.n)

    @classmethod
    def between(cls, owner: np.ndarray, near: np.ndarray, weight: np.ndarray, n: int) -> Neighbours:
        """Return lists of entries `(owner, near, weight)`, for n owners."""
        order = np.argsort(owner, kind="stable")
        starts = np.concatenate(([0], np.cumsum(np.bincount(owner, minlength=n))))
        return cls(starts, near[order], weight[order])

    def of_one(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbours of one variable, and their weights."""
        entries = slice(self.starts[i], self.starts[i + 1])
        return self.near[entries], self.weight[entries]

    def field(self, unary: np.ndarray, z: np.ndarray) -> np.ndarray:
        """Return the gain `[n]` of each variable being 1 instead of 0, given a state `[n]`."""
        return np.asarray(unary + self.sums(self.weight * z[self.near]), np.float64)

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Return the sum of one number per entry over each list."""
        totals = np.concatenate(([0.0], np.cumsum(values)))
        return np.asarray(totals[self.starts[1:]] - totals[self.starts[:-1]])

    def largest_sums(self, values: np.ndarray, most: int) -> np.ndarray:
        """Return, for each list, the sum of its `most` largest numbers, which are at least 0."""
        n = len(self.starts) - 1
        if most == 0:
            return np.zeros(n)
        longest = int(np.diff(self.starts).max(initial=0))
        # With one long list a table would be mostly empty; the full sums are upper bounds as well.
        if most >= longest or n * longest > 2 * len(values) + n:
            return self.sums(values)
        place = np.arange(len(values)) - np.repeat(self.starts[:-1], np.diff(self.starts))
        owner = np.repeat(np.arange(n), np.diff(self.starts))
        table = np.zeros((n, longest))
        table[owner, place] = values
        largest = np.partition(table, longest - most, axis=1)[:, longest - most :]
        return np.asarray(largest.sum(axis=1))
