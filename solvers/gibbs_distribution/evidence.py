"""The base of evidence: variables whose values are known leave the problem that is summed over."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Generic

import numpy as np

from ..arrays import Scores, States
from ..kept import kept
from .samples import ProblemT


@dataclass(frozen=True, eq=False)
class Evidence(ABC, Generic[ProblemT]):
    """A problem some of whose variables keep a value, and what sums over the others say of all.

    Attributes:
        problem: of all variables.
        rest: of the free ones, with the terms that the known values leave. It has a variable even
            where all values are known: one that has no choice. The problem itself where nothing is
            known.
        values: `[batch, n]`, integers, -1 for a free variable; None where all are free.
        constant: `[batch]`, the score of the known values alone.
    """

    problem: ProblemT
    rest: ProblemT
    values: States | None
    constant: Scores

    @kept
    def fixed(self) -> np.ndarray:
        """`[n]`, bool: which variables are known, in some instance at least."""
        if self.values is None:
            return np.zeros(self.problem.n, bool)
        fixed: np.ndarray = (self.values >= 0).any(axis=0)
        return fixed

    @kept
    def places(self) -> np.ndarray:
        """`[free]`: the variables of `rest`, by their numbers in `problem`."""
        if self.values is None:
            return np.arange(self.problem.n)
        return np.flatnonzero((self.values < 0).any(axis=0))

    def states(self, z: np.ndarray) -> np.ndarray:
        """Return states `[batch, ..., n]` of all variables, by those of `rest`."""
        if self.values is None:
            return z
        batch, n = self.values.shape
        between = z.shape[1:-1]
        values = self.values.reshape(batch, *(1 for _ in between), n)
        whole = np.broadcast_to(values, (batch, *between, n)).astype(z.dtype)
        whole[..., self.places] = z[..., : len(self.places)]
        return whole

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
        """Return the numbers in `rest` of variables that are free."""
        if self.values is None:
            return variables
        number = np.zeros(self.problem.n, np.int64)
        number[self.places] = np.arange(len(self.places))
        numbers: np.ndarray = number[variables]
        return numbers
