"""Exact sums over the labels of the variables without evidence, a part of the batch at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array, as_float64, beside, namespace_of, to_numpy
from ..gibbs_distribution.samples import Direction
from .algorithms.buckets import buckets_of, in_parts
from .algorithms.sum_product import Conditionals
from .problem import LabelProblem


@dataclass(frozen=True, eq=False)
class FreeLabelSums:
    """Sums over all labels of a problem, from which samples and derivatives come.

    Attributes:
        problem: of the variables without evidence.
        parts: the conditionals of each variable, some instances each.
        ones: `[batch, n, k]`, the probabilities of the values of each variable.
        pairs: `[batch, e, k, k]`, those of the values of each pair.
    """

    problem: LabelProblem
    parts: tuple[Conditionals, ...]
    ones: Array
    pairs: Array

    @classmethod
    def of(cls, problem: LabelProblem) -> FreeLabelSums:
        """Return the sums of a problem whose tables fit into memory."""
        buckets = buckets_of(problem)
        parts = tuple(Conditionals.of(sums, buckets) for sums in in_parts(problem, buckets))
        ones, pairs = concatenated(problem, [sums.marginals() for sums in parts])
        return cls(problem, parts, ones, pairs)

    def log_partition(self) -> Array:
        """`[batch]`: minus infinity where everything is forbidden."""
        xp = namespace_of(self.problem.unary)
        return xp.concat([sums.log_partition for sums in self.parts], axis=0)

    def entropies(self) -> Array:
        """`[batch]`: log Z less the mean score."""
        problem = self.problem
        xp = namespace_of(problem.unary)
        terms = xp.reshape(
            self.ones * _finite(problem.unary), (problem.batch, problem.n * problem.k)
        )
        mean = xp.sum(terms, axis=-1)
        for edge in range(problem.e):
            i, j = problem.topology.pairs[edge]
            probabilities = self.pairs[:, edge, : problem.sizes[i], : problem.sizes[j]]
            mean = mean + xp.sum(probabilities * _finite(problem.pairwise(edge)), axis=(1, 2))
        return self.log_partition() - mean

    def drawn(self, uniforms: np.ndarray, given: np.ndarray | None = None) -> np.ndarray:
        """`[batch, samples, n]`, numpy: samples for uniforms `[batch, samples, n]`.

        Args:
            uniforms: in [0, 1).
            given: `[batch, samples, n]`, values that are not drawn, -1 for all others; None where
                all are.
        """
        arrays = (uniforms,) if given is None else (uniforms, given)
        drawn = [to_numpy(sums.samples(*rows)) for sums, *rows in self.by_part(*arrays)]
        return np.concatenate(drawn)

    def covariance(self, direction: Direction) -> tuple[Array, Array]:
        """Cov(phi, phi . d) `[batch, n, k]` and `[batch, e, k, k]`, where phi indicates values."""
        unary, pairwise = (np.ascontiguousarray(scores) for scores in direction)
        gradients = [
            sums.derivative(_as_scores(sums.problem, *rows))
            for sums, *rows in self.by_part(unary, pairwise)
        ]
        return concatenated(self.problem, gradients)

    def by_part(self, *arrays: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Yield each part of the batch with its rows of arrays `[batch, ...]`.

        The rows are arrays of the same kind as those of the part's problem.
        """
        start = 0
        for sums in self.parts:
            rows = slice(start, start + sums.problem.batch)
            yield sums, *(beside(sums.problem.unary, array[rows]) for array in arrays)
            start += sums.problem.batch


def concatenated(problem: LabelProblem, parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Arrays of unary and of pairwise features of the whole batch, by those of its parts."""
    xp = namespace_of(problem.unary)
    unary = xp.concat([gradient[0] for gradient in parts], axis=0)
    pairwise = xp.concat([gradient[1] for gradient in parts], axis=0)
    return unary, pairwise


def _as_scores(problem: LabelProblem, unary: Array, pairwise: Array) -> LabelProblem:
    """The problem of the same pairs, whose scores a direction is."""
    tables = np.arange(problem.e)
    sizes = problem.sizes
    topology = problem.topology
    return LabelProblem(
        unary, pairwise, tables, None, sizes, topology, (problem.batch,), problem.home
    )


def _finite(scores: Array) -> Array:
    """Float64 scores; zero for what is forbidden, which has no probability."""
    xp = namespace_of(scores)
    values = as_float64(scores)
    return xp.where(xp.isinf(values), xp.zeros_like(values), values)
