"""Base class of samples that are completed with other values of single variables.

The samples are drawn variable by variable.
"""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic

import numpy as np

from ..arrays import ArrayT
from .samples import (
    Direction,
    ProblemT,
    by_completion,
    by_sample,
    checked_direction,
    checked_weights,
)


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


def placed(
    problem: ProblemT,
    z: np.ndarray,
    chosen: np.ndarray,
    completed: np.ndarray,
    conditionals: np.ndarray,
) -> dict[str, Any]:
    """Return the fields of `SampleCompletions` in the caller's form, from arrays by instance.

    Args:
        problem: the problem with the leading dimensions of the result.
        z: `[batch, samples, n]`.
        chosen: `[batch, samples, m]`.
        completed: `[batch, samples, m, ..., n]`.
        conditionals: `[batch, samples, m, ...]`.
    """
    place = problem.home.place
    return {
        "samples": place(by_sample(problem, z)),
        "variables": by_sample(problem, chosen),
        "completed": place(by_completion(problem, completed)),
        "conditionals": place(by_sample(problem, conditionals)),
        "_problem": problem,
        "_chosen": chosen,
    }
