"""Base class of samples that are completed with other values of single variables.

The samples are drawn variable by variable.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, Self

import numpy as np

from ..arrays import ArrayT
from ..options import check_threads
from .evidence import Evidence
from .samples import (
    Direction,
    ProblemT,
    by_completion,
    by_sample,
    checked_direction,
    checked_uniforms,
    checked_variables,
    checked_weights,
)


class Completing(Protocol):
    """Sums over the variables without evidence, which complete samples."""

    def completed(
        self, uniforms: np.ndarray, chosen: np.ndarray, threads: int | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return samples `[batch, samples, n]`, their completions, and conditionals.

        Args:
            uniforms: `[batch, samples, n]`.
            chosen: `[batch, samples, m]`, the variables to complete.
            threads: maximum number of threads; None for all cores.
        """


@dataclass(frozen=True, eq=False)
class SampleCompletions(ABC, Generic[ProblemT, ArrayT]):
    """Samples of p(z) ~ exp(score(z)), drawn variable by variable, and their completions.

    A completion gives a variable v another value. It keeps the sample's values of the variables
    that were drawn before v, and draws the variables after v by the same uniforms. So it is a
    sample of the rest given the earlier values and the new one. Arrays are of the caller's kind,
    with the leading dimensions of the problem (`batch` here).

    Attributes:
        samples: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, numpy, the completed variables.
        completed: the completions of each sample.
        conditionals: the probabilities of the values of these variables, given the values that the
            sample drew before.

    References:
        Tokui, Sato (2017), Evaluating the variance of likelihood-ratio gradient estimators: all
        values of one variable, the others by common random numbers.
    """

    _LARGEST: ClassVar[float] = float(np.finfo(np.float64).max)
    """Largest magnitude of a direction."""

    samples: ArrayT
    variables: np.ndarray
    completed: ArrayT
    conditionals: ArrayT
    _problem: ProblemT = field(repr=False)
    _chosen: np.ndarray = field(repr=False)
    _free: Any = field(repr=False)
    _evidence: Any = field(repr=False)
    _z: np.ndarray = field(repr=False)

    @classmethod
    def drawn(
        cls,
        problem: ProblemT,
        free: Completing,
        evidence: Evidence[ProblemT],
        uniforms: Any,
        variables: Any,
        threads: int | None,
    ) -> Self:
        """Draw samples variable by variable, and complete each with other values of variables.

        Args:
            problem: the problem with the leading dimensions of the result.
            free: the sums over the variables without evidence.
            evidence: the values of the other variables.
            uniforms: `[samples, batch, n]`, as a caller passes them.
            variables: `[m]` or `[samples, batch, m]`, the variables to complete; None for all free
                ones.
            threads: maximum number of threads; None for all cores.

        Raises:
            ProblemError: the uniforms or the variables have another shape or range, or one of the
                variables is fixed.
            OptionError: `threads` is not a valid number.
        """
        check_threads(threads)
        numbers = checked_uniforms(problem, uniforms, (problem.n,))
        chosen = checked_variables(problem, numbers.shape[1], variables, evidence.fixed)
        z, completed, conditionals = free.completed(
            evidence.uniforms(numbers), evidence.numbers(chosen), threads
        )
        place = problem.home.place
        return cls(
            samples=place(by_sample(problem, evidence.states(z))),
            variables=by_sample(problem, chosen),
            completed=place(by_completion(problem, evidence.states(completed))),
            conditionals=place(by_sample(problem, conditionals)),
            _problem=problem,
            _chosen=chosen,
            _free=free,
            _evidence=evidence,
            _z=z,
        )

    def _weights(self, name: str, weights: Any) -> np.ndarray:
        """Return a caller's weights of the conditionals, `[batch, samples, m, ...]`.

        Raises:
            ProblemError: they have another shape than the conditionals, or are not finite.
        """
        shape = tuple(self.conditionals.shape)
        return checked_weights(self._problem, name, weights, shape)

    def _direction(
        self, unary: Any, pairwise: Any, shapes: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> Direction | None:
        """Return a caller's direction of marginals; None if there is none.

        Args:
            unary: an array that broadcasts to the first shape; None for zeros.
            pairwise: an array that broadcasts to the second shape; None for zeros.
            shapes: the shapes of both, without the leading dimensions.

        Raises:
            ProblemError: a part does not broadcast to its shape, or is not finite.
        """
        if unary is None and pairwise is None:
            return None
        return checked_direction(self._problem, unary, pairwise, shapes, self._LARGEST)
