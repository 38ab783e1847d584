"""Compute exact sums over variables without evidence, one part of the batch at a time.

If no plan of elimination fits into memory, a part is one instance, split by the values of some
variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np

from ..arrays import Array, Scores, States, as_float64, beside, namespace_of, to_numpy
from ..gibbs_distribution.samples import Direction
from .algorithms.buckets import buckets_of, in_parts, why_too_wide
from .algorithms.sum_product import Conditionals
from .conditioned_sums import MOST_ENTRIES, Conditioned, Split
from .problem import LabelProblem


class Part(Protocol):
    """Sums over some instances, in the form of `Conditionals`."""

    @property
    def problem(self) -> LabelProblem:
        """The problem of these instances."""

    @property
    def log_partition(self) -> Scores:
        """Log Z, `[batch]`."""

    def marginals(self) -> tuple[Array, Array]:
        """Return marginals of variables and of pairs."""

    def samples(self, uniforms: Array, evidence: Array | None = None) -> States:
        """Return samples `[batch, samples, n]`."""

    def derivative(self, direction: LabelProblem) -> tuple[Array, Array]:
        """Return the derivative of the marginals."""

    def at(self, states: States) -> Array:
        """Return conditionals `[batch, samples, n, k]`."""

    def pulled_back(self, states: States, weights: Array) -> tuple[Array, Array]:
        """Return the gradient of weighted conditionals."""


@dataclass(frozen=True, eq=False)
class FreeLabelSums:
    """Sums over all labels of a problem, which give samples and derivatives.

    Attributes:
        problem: of the variables without evidence.
        parts: objects that give the sums over some instances, kept or computed again.
        log_z: `[batch]`, minus infinity if everything is forbidden.
        ones: `[batch, n, k]`, the probabilities of the values of each variable.
        pairs: `[batch, e, k, k]`, the probabilities of the values of each pair.
    """

    problem: LabelProblem
    parts: tuple[Callable[[], Part], ...]
    log_z: Array
    ones: Array
    pairs: Array

    @classmethod
    def of(cls, problem: LabelProblem, split: Split) -> FreeLabelSums:
        """Return the sums of a problem.

        Args:
            problem: a problem whose elimination is not too wide.
            split: `split_of(problem, room)`.
        """
        way = split.way
        if split.variables or not way.keeps_tables:
            problem = problem.copied()  # its scores are read again later
        buckets = buckets_of(problem)
        openers: list[Callable[[], Part]]
        if split.variables:
            instances = (problem.instances(slice(b, b + 1)) for b in range(problem.batch))
            openers = [partial(Conditioned.of, one, split) for one in instances]
        else:
            batches = in_parts(problem, buckets)
            openers = [partial(Conditionals.of, batch, buckets, way) for batch in batches]
        parts = list[Callable[[], Part]]()
        log_z = []
        features = []
        for opener in openers:
            sums = opener()
            log_z.append(sums.log_partition)
            features.append(sums.marginals())
            if way.keeps_instances:
                parts.append(partial(_itself, sums))
            else:
                parts.append(opener)
        xp = namespace_of(problem.unary)
        ones, pairs = concatenated(problem, features)
        return cls(problem, tuple(parts), xp.concat(log_z, axis=0), ones, pairs)

    def entropies(self) -> Array:
        """Return the entropies `[batch]`: log Z minus the mean score."""
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
        return self.log_z - mean

    def drawn(self, uniforms: np.ndarray, evidence: np.ndarray | None = None) -> np.ndarray:
        """Return samples `[batch, samples, n]`, numpy, for uniforms of the same shape.

        Args:
            uniforms: numbers in [0, 1).
            evidence: `[batch, samples, n]`, values that are not drawn, -1 for variables to draw;
                None to draw all.
        """
        arrays = [uniforms]
        if evidence is not None:
            arrays.append(evidence)
        drawn = [to_numpy(sums.samples(*rows)) for sums, *rows in self.by_part(*arrays)]
        return np.concatenate(drawn)

    def completed(
        self, uniforms: np.ndarray, chosen: np.ndarray, threads: int | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return samples, their completions, and conditionals.

        They are `[batch, samples, n]`, `[batch, samples, m, k - 1, n]` and `[batch, samples, m,
        k]`.

        Args:
            uniforms: `[batch, samples, n]`.
            chosen: `[batch, samples, m]`, variables.
            threads: as for bits; sums over labels use one thread.
        """
        z = self.drawn(uniforms)
        of_all = np.concatenate([to_numpy(sums.at(rows)) for sums, rows in self.by_part(z)])
        conditionals = np.take_along_axis(of_all, chosen[..., None], axis=2)
        return z, self._with_others(uniforms, z, chosen), conditionals

    def _with_others(self, uniforms: np.ndarray, z: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Return samples with other values of chosen variables, `[batch, samples, m, k - 1, n]`.

        Args:
            uniforms: `[batch, samples, n]`, by which the samples were drawn.
            z: `[batch, samples, n]`, the samples.
            chosen: `[batch, samples, m]`.
        """
        k = self.problem.k
        n = self.problem.n
        batch, samples, m = chosen.shape
        others = (np.take_along_axis(z, chosen, axis=-1)[..., None] + 1 + np.arange(k - 1)) % k
        labels = np.full((*chosen.shape, k - 1, n), -1, np.int64)
        np.put_along_axis(
            labels,
            np.broadcast_to(chosen[..., None, None], (*others.shape, 1)),
            others[..., None],
            axis=-1,
        )
        again = np.broadcast_to(uniforms[:, :, None, None, :], labels.shape)
        flat = (batch, samples * m * (k - 1), n)
        return self.drawn(again.reshape(flat), labels.reshape(flat)).reshape(labels.shape)

    def covariance(self, direction: Direction) -> tuple[Array, Array]:
        """Return Cov(phi, phi . d), `[batch, n, k]` and `[batch, e, k, k]`, of indicators phi."""
        unary, pairwise = (np.ascontiguousarray(scores) for scores in direction)
        gradients = [
            sums.derivative(sums.problem.with_scores(*rows))
            for sums, *rows in self.by_part(unary, pairwise)
        ]
        return concatenated(self.problem, gradients)

    def pulled_back(
        self, z: np.ndarray, chosen: np.ndarray, costs: np.ndarray
    ) -> tuple[Array, Array]:
        """Return the gradient in the scores of the sum of costs * P(x_v = a | drawn before).

        Args:
            z: `[batch, samples, n]`, the samples.
            chosen: `[batch, samples, m]`, the variables.
            costs: `[batch, samples, m, k]`.
        """
        weights = np.zeros((*z.shape, self.problem.k))
        instances, samples = np.ogrid[: len(costs), : costs.shape[1]]
        # One variable may be chosen twice.
        np.add.at(weights, (instances[..., None], samples[..., None], chosen), costs)
        gradients = [sums.pulled_back(*rows) for sums, *rows in self.by_part(z, weights)]
        return concatenated(self.problem, gradients)

    def by_part(self, *arrays: np.ndarray) -> Iterator[tuple[Any, ...]]:
        """Yield each part of the batch with its rows of arrays `[batch, ...]`.

        The rows are arrays of the same kind as the scores of the part's problem.
        """
        start = 0
        for opener in self.parts:
            sums = opener()
            rows = slice(start, start + sums.problem.batch)
            yield sums, *(beside(sums.problem.unary, array[rows]) for array in arrays)
            start += sums.problem.batch


def why_not_summed(problem: LabelProblem, split: Split | None) -> str | None:
    """Return why exact sums over labels are out of reach, or None if they are not.

    Args:
        problem: of the variables without evidence.
        split: `split_of(problem, room)`; None also if elimination is too wide.
    """
    if split is not None:
        return None
    if reason := why_too_wide(problem):
        return reason
    buckets = buckets_of(problem)
    return (
        f"the tables of a width of {buckets.width} have {buckets.entries:.2g} entries, and split "
        f"by values until they fit into memory they have more than {MOST_ENTRIES:.2g}"
    )


def _itself(sums: Part) -> Part:
    return sums


def concatenated(problem: LabelProblem, parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    """Return unary and pairwise features of the whole batch, from those of its parts."""
    xp = namespace_of(problem.unary)
    unary = xp.concat([gradient[0] for gradient in parts], axis=0)
    pairwise = xp.concat([gradient[1] for gradient in parts], axis=0)
    return unary, pairwise


def _finite(scores: Array) -> Array:
    """Return float64 scores, with zero for forbidden values, whose probability is zero."""
    xp = namespace_of(scores)
    values = as_float64(scores)
    return xp.where(xp.isinf(values), xp.zeros_like(values), values)
