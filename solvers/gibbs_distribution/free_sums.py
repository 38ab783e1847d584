"""Sums over the states of the bits without evidence, with samples and derivatives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from ..algorithms.elimination.plan import cached_plan
from ..arrays import Scores, States
from ..problems.problem import Problem
from . import (
    enumeration_completions,
    enumeration_derivative,
    sum_product,
    sum_product_completions,
    sum_product_derivative,
)
from .draws import draw
from .enumeration import RunningSums
from .samples import Drawn


@dataclass(frozen=True, eq=False)
class FreeSums(ABC):
    """Sums over the states of the variables without evidence, on the host.

    Attributes:
        problem: the problem of these variables.
        log_partition: `[batch]`.
        marginals: `[batch, n + e]`.
    """

    problem: Problem
    log_partition: Scores
    marginals: np.ndarray

    def scores(self) -> np.ndarray:
        """Return the float64 scores `[batch, n + e]` that were summed."""
        parts = (self.problem.unary, self.problem.pairwise)
        return np.concatenate(parts, axis=1, dtype=np.float64)

    @abstractmethod
    def drawn(self, uniforms: np.ndarray, threads: int | None) -> States:
        """Return samples `[batch, samples, n]` for uniforms `[batch, samples, ...]`."""

    @abstractmethod
    def completed(
        self, uniforms: np.ndarray, chosen: np.ndarray, threads: int | None
    ) -> tuple[States, States, np.ndarray]:
        """Return samples, completions and conditionals.

        They are `[batch, samples, n]`, `[batch, samples, m, n]` and `[batch, samples, m]`.

        Args:
            uniforms: `[batch, samples, n]`.
            chosen: `[batch, samples, m]`, the variables to complete.
            threads: maximum number of threads; None for all cores.
        """

    @abstractmethod
    def gradient(
        self, drawn: Drawn | None, direction: np.ndarray | None, threads: int | None
    ) -> np.ndarray:
        """Return the gradient `[batch, n + e]` of direction . marginals plus weighted conditionals.

        Args:
            drawn: samples and their changes; None for none.
            direction: `[batch, n + e]`, of moderate size; None for zeros.
            threads: maximum number of threads; None for all cores.
        """


@dataclass(frozen=True, eq=False)
class EnumeratedSums(FreeSums):
    """Sums by enumeration.

    Attributes:
        running: the running sums of enumeration.
    """

    running: RunningSums

    def scores(self) -> np.ndarray:
        """Return the float64 scores `[batch, n + e]` that were summed."""
        return self.running.coefficients

    def drawn(self, uniforms: np.ndarray, threads: int | None) -> States:
        """Return samples, each from one uniform."""
        return draw(self.running, self.problem.n, self.problem.edges, uniforms, threads)

    def completed(
        self, uniforms: np.ndarray, chosen: np.ndarray, threads: int | None
    ) -> tuple[States, States, np.ndarray]:
        """Return samples, completions and conditionals."""
        problem = self.problem
        return enumeration_completions.complete(
            self.running, problem.n, problem.edges, uniforms, chosen, threads
        )

    def gradient(
        self, drawn: Drawn | None, direction: np.ndarray | None, threads: int | None
    ) -> np.ndarray:
        """Return the gradient, by one pass over all states."""
        problem = self.problem
        along = np.zeros(self.marginals.shape)
        if direction is not None:
            along = direction
        means = np.sum(self.marginals * along, axis=1)
        return enumeration_derivative.derivative(
            self.running, problem.edges, drawn or _nothing(problem), along, means, threads
        )


@dataclass(frozen=True, eq=False)
class EliminatedSums(FreeSums):
    """Sums by elimination, which runs again for each call."""

    def drawn(self, uniforms: np.ndarray, threads: int | None) -> States:
        """Return samples, from one uniform for each variable."""
        problem = self.problem
        plan = problem.topology.recall(cached_plan)
        return sum_product.infer(plan, problem.unary, problem.pairwise, uniforms, threads)[2]

    def completed(
        self, uniforms: np.ndarray, chosen: np.ndarray, threads: int | None
    ) -> tuple[States, States, np.ndarray]:
        """Return samples, completions and conditionals."""
        problem = self.problem
        plan = problem.topology.recall(cached_plan)
        return sum_product_completions.complete(
            plan, problem.unary, problem.pairwise, uniforms, chosen, threads
        )

    def gradient(
        self, drawn: Drawn | None, direction: np.ndarray | None, threads: int | None
    ) -> np.ndarray:
        """Return the gradient, by passes up and down."""
        problem = self.problem
        plan = problem.topology.recall(cached_plan)
        scores = (problem.unary, problem.pairwise)
        gradient = np.zeros((problem.batch, problem.n + problem.e))
        if direction is not None:
            gradient += sum_product_derivative.covariance_product(plan, *scores, direction, threads)
        if drawn is not None:
            gradient += sum_product_completions.derivative(plan, *scores, drawn, threads)
        return gradient


def _nothing(problem: Problem) -> Drawn:
    """Return no samples."""
    chosen = np.empty((problem.batch, 0, 0), np.int64)
    return Drawn(np.empty((problem.batch, 0, problem.n), np.int8), chosen, np.empty(chosen.shape))
