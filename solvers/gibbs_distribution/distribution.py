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
"""Relation of a number to log Z: equal to it, a bound on one side of it, or None, an estimate."""


@dataclass(frozen=True, eq=False)
class Sums(ABC, Generic[ProblemT, ArrayT]):
    """What is known of the sums over all states of p(z) = exp(score(z)) / Z.

    Arrays have the leading dimensions of the problem (`batch` here), are of the caller's kind, and
    hold float64.

    Attributes:
        log_partition: `[batch]`, in nats: log Z, or what `bound` says.
        bound: "exact"; or "upper" or "lower", for a bound on log Z; or None, for an estimate.
        unary_marginals: the probabilities of the values of each variable.
        pairwise_marginals: those of the values of each pair of `edges` together.
        method: how they were computed.
        problem: what was asked.
    """

    log_partition: ArrayT
    bound: Bound
    unary_marginals: ArrayT
    pairwise_marginals: ArrayT
    method: str
    problem: ProblemT

    @property
    def edges(self) -> Edges:
        """`[e, 2]`, numpy, i < j: the pair of each pairwise marginal."""
        return self.problem.topology.edges()


@dataclass(frozen=True, eq=False)
class Distribution(Sums[ProblemT, ArrayT]):
    """Exact sums: p(z) = exp(score(z)) / Z, of which samples can be drawn.

    Variables with evidence (`fix`) keep their values: Z is then the sum over the states that agree,
    so that log P(evidence) is the difference of two log Z, with and without it. Probabilities,
    entropy and samples are those given the evidence.

    Attributes:
        samples: `[samples, batch, n]`; None where no uniforms were given.
    """

    samples: ArrayT | None

    _LARGEST: ClassVar[float] = float(np.finfo(np.float64).max)
    """Magnitude of a direction."""

    @property
    def entropy(self) -> ArrayT:
        """`[batch]`: -E[log p] = log Z - E[score], in nats.

        Its error is a few times that of log Z.

        Example:
            >>> from solvers import gibbs
            >>> round(float(gibbs([0.0, 0.0]).entropy), 6)  # two fair coins: 2 log 2
            1.386294
        """
        return self.problem.restore(self._entropies())  # type: ignore[no-any-return]  # its kind

    def sample(self, uniforms: Any, *, threads: int | None = None) -> ArrayT:
        """Independent samples, those that `gibbs` gives for the same uniforms.

        Equal numbers give equal samples. Over labels a variable's value is the inverse of its
        cumulative probabilities, given the variables drawn before, at its uniform number. Over bits
        enumeration has kept running sums, 2^n / 64 bytes an instance, and builds 512 states a
        sample; elimination runs again.

        Args:
            uniforms: as for `gibbs`; `uniforms_shape` gives the shape to draw.
            threads: most threads to use, over bits; None for all cores.

        Returns:
            `[samples, batch, n]`, int8, of labels int64.

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
        """Cov(phi, phi . d) for a direction d.

        phi are the features that scores weigh. Of bits they are the z_i and the z_i z_j of `edges`;
        of labels they are the indicators of the values of variables and of pairs.

        It is the derivative of the marginals along d, and the covariance is symmetric, so it also
        takes a gradient with respect to the marginals back to the scores. With theta the scores
        themselves, the entropy H = log Z - theta . E[phi] has the gradient -Cov(phi, phi . theta).

        Args:
            unary: `[batch, n]`, of labels `[batch, n, k]`, the part of d for the unary scores,
                finite; or what broadcasts to it.
            pairwise: `[batch, e]`, of labels `[batch, e, k, k]`, that for the pairwise scores; None
                for zeros.
            threads: most threads to use, over bits; None for all cores.

        Returns:
            Two float64 arrays of these shapes.

        Raises:
            ProblemError: a part does not broadcast to its shape or is not finite; over labels, also
                where it holds numbers beyond 1e290, whose sums may be beyond all floats.

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
        """Return what an error about uniforms says of their shape."""
        return f" for {self.method} (`uniforms_shape`)"

    @abstractmethod
    def _entropies(self) -> Scores:
        """`[batch]`."""

    @abstractmethod
    def _draw(self, uniforms: np.ndarray, threads: int | None) -> np.ndarray:
        """Return numpy samples `[batch, samples, n]` for uniforms `[batch, samples, ...]`.

        The uniforms have been checked.
        """

    @abstractmethod
    def _covariance(self, direction: Direction, threads: int | None) -> tuple[Any, Any]:
        """Return Cov(phi, phi . d), an instance in each row."""
