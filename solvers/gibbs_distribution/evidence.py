"""Base of evidence: variables with known values are removed from the problem of the sums."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Generic, Self

import numpy as np

from ..arrays import Scores, States
from ..kept import kept
from .samples import ProblemT


@dataclass(frozen=True, eq=False)
class Evidence(ABC, Generic[ProblemT]):
    """Problem in which some variables have known values, with a smaller problem of the others.

    Attributes:
        problem: the problem of all variables.
        rest: the problem of the variables that are free in some instance, including the terms from
            known values. A variable that other instances know has a single possible value there. If
            all values are known, `rest` has one such variable. If none is known, it is the problem
            itself.
        values: `[batch, n]`, integers, -1 for a free variable; None if all are free.
        constant: `[batch]`, the score of the known values.
    """

    problem: ProblemT
    rest: ProblemT
    values: States | None
    constant: Scores

    @classmethod
    def none(cls, problem: ProblemT) -> Self:
        """Return evidence that leaves all variables free."""
        return cls(problem, problem, None, np.zeros(problem.batch))

    @kept
    def fixed(self) -> np.ndarray:
        """Whether each variable is known in at least one instance, `[n]`, bool."""
        if self.values is None:
            return np.zeros(self.problem.n, bool)
        fixed: np.ndarray = (self.values >= 0).any(axis=0)
        return fixed

    @kept
    def places(self) -> np.ndarray:
        """Numbers in `problem` of the variables of `rest`, `[free]`."""
        if self.values is None:
            return np.arange(self.problem.n)
        return np.flatnonzero((self.values < 0).any(axis=0))

    def states(self, z: np.ndarray) -> np.ndarray:
        """Return states `[batch, ..., n]` of all variables, from states of `rest`."""
        if self.values is None:
            return z
        batch, n = self.values.shape
        between = z.shape[1:-1]
        values = self.values.reshape(batch, *(1 for _ in between), n).astype(z.dtype)
        whole = np.empty((batch, *between, n), z.dtype)
        whole[..., self.places] = z[..., : len(self.places)]
        return np.where(values < 0, whole, values)

    def uniforms(self, numbers: np.ndarray) -> np.ndarray:
        """Keep the uniforms of the free variables, `[batch, samples, n of rest]`.

        `numbers` is `[batch, samples, n]`, one uniform per variable.
        """
        if self.values is None:
            return numbers
        if not len(self.places):
            return np.zeros((*numbers.shape[:-1], 1))
        return np.ascontiguousarray(numbers[..., self.places])

    def numbers(self, variables: np.ndarray) -> np.ndarray:
        """Return the numbers in `rest` of free variables."""
        if self.values is None:
            return variables
        number = np.zeros(self.problem.n, np.int64)
        number[self.places] = np.arange(len(self.places))
        numbers: np.ndarray = number[variables]
        return numbers
