"""Base class of exact sums over the states of a problem, and of bounds and estimates of them.

It serves every kind of problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, Literal, TypeAlias

import numpy as np

from ..arrays import ArrayT, Edges, Scores
from ..options import check_threads
from .completions import SampleCompletions
from .samples import Direction, ProblemT, by_sample, checked_direction, checked_uniforms

Bound: TypeAlias = Literal["exact", "upper", "lower"] | None
"""Relation of a number to log Z: "exact", an "upper" or "lower" bound, or None (an estimate)."""


@dataclass(frozen=True, eq=False)
class Sums(ABC, Generic[ProblemT, ArrayT]):
    """Sums over all states of p(z) = exp(score(z)) / Z: exact values, bounds or estimates.

    Arrays have the leading dimensions of the problem (`batch` here), are of the caller's kind, and
    hold float64.

    Attributes:
        log_partition: `[batch]`, in nats: log Z, or a bound or estimate of it, as `bound` says.
        bound: "exact"; or "upper" or "lower", for a bound on log Z; or None, for an estimate.
        unary_marginals: the probabilities of the values of each variable.
        pairwise_marginals: the joint probabilities of the values of each pair of `edges`.
        method: the name of the method that computed them.
        problem: the problem of the sums.
    """

    log_partition: ArrayT
    bound: Bound
    unary_marginals: ArrayT
    pairwise_marginals: ArrayT
    method: str
    problem: ProblemT

    @property
    def edges(self) -> Edges:
        """The pair of each pairwise marginal, `[e, 2]`, numpy, i < j."""
        return self.problem.topology.edges()


@dataclass(frozen=True, eq=False)
class Distribution(Sums[ProblemT, ArrayT]):
    """Exact sums of p(z) = exp(score(z)) / Z, from which samples can be drawn.

    Variables with evidence (`fix`) keep their values, and Z is then the sum over the states that
    agree. So log P(evidence) is log Z with evidence minus log Z without it. Probabilities, entropy
    and samples are conditional on the evidence.

    Attributes:
        samples: `[samples, batch, n]`; None without uniforms.
    """

    samples: ArrayT | None

    _LARGEST: ClassVar[float] = float(np.finfo(np.float64).max)
    """Maximum magnitude of a direction."""

    @property
    def entropy(self) -> ArrayT:
        """The entropy `[batch]`: -E[log p] = log Z - E[score], in nats.

        Its error is a few times that of log Z.

        Example:
            >>> from solvers import gibbs
            >>> round(float(gibbs([0.0, 0.0]).entropy), 6)  # two fair coins: 2 log 2
            1.386294
        """
        return self.problem.restore(self._entropies())  # type: ignore[no-any-return]  # its kind

    def sample(self, uniforms: Any, *, threads: int | None = None) -> ArrayT:
        """Return independent samples, the same that `gibbs` gives for these uniforms.

        Equal numbers give equal samples. For labels, the value of a variable is the inverse of its
        cumulative probabilities, given the variables drawn before, at its uniform number. For bits,
        enumeration uses stored running sums of 2^n / 64 bytes per instance, and builds 512 states
        per sample. Elimination runs again.

        Args:
            uniforms: as for `gibbs`; `uniforms_shape` gives the shape to draw.
            threads: maximum number of threads for bits; None for all cores.

        Returns:
            `[samples, batch, n]`, int8 for bits and int64 for labels.

        Raises:
            ProblemError: the uniforms have another shape, range or precision.

        Example:
            >>> from solvers import gibbs, labels
            >>> gibbs([0.0, 0.0]).sample([0.1, 0.4, 0.6]).tolist()
            [[0, 0], [1, 0], [0, 1]]
            >>> labels.gibbs([[0.0, 0.0, 0.0]]).sample([[0.1], [0.5], [0.9]]).tolist()
            [[0], [1], [2]]
        """
        check_threads(threads)
        problem = self.problem
        numbers = checked_uniforms(problem, uniforms, self._uniforms_of_a_sample(), self._word())
        z = by_sample(problem, self._draw(numbers, threads))
        return problem.home.place(z)  # type: ignore[no-any-return]  # its kind

    @abstractmethod
    def completions(
        self, uniforms: Any, variables: Any = None, *, threads: int | None = None
    ) -> SampleCompletions[ProblemT, ArrayT]:
        """Draw samples variable by variable, and complete each with other values of variables."""

    def covariance_product(
        self, unary: Any, pairwise: Any = None, *, threads: int | None = None
    ) -> tuple[ArrayT, ArrayT]:
        """Return Cov(phi, phi . d) for a direction d.

        phi are the features whose weights are the scores. For bits they are the z_i and the z_i z_j
        of `edges`. For labels they are the indicators of the values of variables and of pairs.

        The result is the derivative of the marginals along d. Since the covariance is symmetric, it
        also pulls a gradient with respect to the marginals back to the scores. With theta the
        scores themselves, the entropy H = log Z - theta . E[phi] has the gradient -Cov(phi, phi .
        theta).

        Args:
            unary: the part of d for the unary scores, finite: `[batch, n]`, for labels
                `[batch, n, k]`, or an array that broadcasts to it.
            pairwise: the part of d for the pairwise scores: `[batch, e]`, for labels
                `[batch, e, k, k]`; None for zeros.
            threads: maximum number of threads for bits; None for all cores.

        Returns:
            Two float64 arrays of these shapes.

        Raises:
            ProblemError: a part does not broadcast to its shape or is not finite. For labels, also
                if it has numbers beyond 1e290, whose sums may overflow.

        Example:
            >>> from solvers import gibbs, labels
            >>> fair = gibbs([0.0, 0.0], [0.0], edges=[[0, 1]])
            >>> unary, pairwise = fair.covariance_product([1.0, 0.0])
            >>> unary.tolist(), pairwise.tolist()
            ([0.25, 0.0], [0.125])
            >>> labels.gibbs([[0.0, 0.0]]).covariance_product([[1.0, 0.0]])[0].tolist()
            [[0.25, -0.25]]
        """
        check_threads(threads)
        problem = self.problem
        leading = len(self.problem.leading)
        shapes = (
            tuple(self.unary_marginals.shape[leading:]),
            tuple(self.pairwise_marginals.shape[leading:]),
        )
        direction = checked_direction(problem, unary, pairwise, shapes, self._LARGEST)
        ones, pairs = self._covariance(direction, threads)
        return problem.restore(ones), problem.restore(pairs)

    @abstractmethod
    def _uniforms_of_a_sample(self) -> tuple[int, ...]:
        """Return `(n,)` if a sample takes one uniform per variable, `()` if it takes one in all."""

    def _word(self) -> str:
        """Return the description of the shape in an error about uniforms."""
        return f" for {self.method} (`uniforms_shape`)"

    @abstractmethod
    def _entropies(self) -> Scores:
        """Return the entropies `[batch]`."""

    @abstractmethod
    def _draw(self, uniforms: np.ndarray, threads: int | None) -> np.ndarray:
        """Return numpy samples `[batch, samples, n]` for uniforms `[batch, samples, ...]`.

        The uniforms have been checked.
        """

    @abstractmethod
    def _covariance(self, direction: Direction, threads: int | None) -> tuple[Any, Any]:
        """Return Cov(phi, phi . d), with one row per instance."""
