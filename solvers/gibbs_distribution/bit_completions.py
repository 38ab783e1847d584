"""Samples of bits drawn variable by variable, and their completions with one bit flipped."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import ArrayT
from ..options import check_threads
from ..problems.problem import Problem
from .bit_evidence import BitEvidence
from .completions import SampleCompletions
from .derivatives import derivative
from .free_sums import FreeSums
from .samples import Drawn


@dataclass(frozen=True, eq=False)
class Completions(SampleCompletions[Problem[ArrayT], ArrayT]):
    """Samples over bits, with a completion for each variable, in which it has the other value.

    The completion of variable v has the other value of z_v. It keeps the sample's values of the
    variables that were drawn before v, and draws the variables after v by the same uniforms. So it
    is a sample of the rest given the earlier values and the other value. (Enumeration gives zeros
    if the other value has a probability below 1e-300.) States are int8, of the caller's kind, with
    the leading dimensions of the problem (`batch` here).

    Attributes:
        samples: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, numpy, the completed variables.
        completed: `[samples, m, batch, n]`, the completions of each sample.
        conditionals: `[samples, batch, m]`, float64, the probabilities that these variables are 1,
            given the values that the sample drew before.

    References:
        Tokui, Sato (2017), Evaluating the variance of likelihood-ratio gradient estimators: all
        values of one variable, the others by common random numbers.
    """

    _free: FreeSums = field(repr=False)
    _evidence: BitEvidence = field(repr=False)

    def derivative(
        self, changes: Any, unary: Any = None, pairwise: Any = None, *, threads: int | None = None
    ) -> tuple[ArrayT, ArrayT]:
        """Return the gradient of the weighted sum of conditionals with respect to the scores.

        The sum is that of changes * P(z_v = 1 | drawn before) over the samples and their variables.
        The values that were drawn before stay fixed. Let the change be that of a cost from z_v = 0
        to z_v = 1, between a sample and its completion. Then the expectation of the result, over
        all variables, is the gradient of the expected cost.

        With enumeration, a sample does not count if the values that it drew before have a
        probability below 1e-200.

        With a direction d, `unary` and `pairwise`, the gradient of d . marginals is added, which is
        `Gibbs.covariance_product`. Enumeration computes it in the same pass over all states.

        Args:
            changes: `[samples, batch, m]`, finite.
            unary: `[batch, n]`, or an array that broadcasts to it: the part of d for the marginals
                of variables, finite; None for zeros.
            pairwise: `[batch, e]`, the part of d for the marginals of pairs; None for zeros.
            threads: maximum number of threads; None for all cores.

        Returns:
            `[batch, n]` and `[batch, e]`, float64.

        Raises:
            ProblemError: the changes have another shape, a part of the direction does not broadcast
                to its shape, or a number is not finite.
            OptionError: `threads` is not a valid number.

        Example:
            >>> from solvers import gibbs
            >>> pair = gibbs([0.0, 0.0], [0.0], edges=[[0, 1]])
            >>> completions = pair.completions([[0.6, 0.4]])
            >>> completions.samples.tolist(), completions.completed.tolist()
            ([[0, 1]], [[[1, 1], [0, 0]]])
            >>> unary, pairwise = completions.derivative([[3.0, 0.0]])
            >>> unary.tolist(), pairwise.tolist()
            ([0.75, 0.0], [0.75])
        """
        check_threads(threads)
        problem = self._problem
        evidence = self._evidence
        weights = self._weights("changes", changes)
        along = None
        direction = self._direction(unary, pairwise, ((problem.n,), (problem.e,)))
        if direction is not None:
            along = evidence.gathered(np.concatenate(direction, axis=1))
        drawn = Drawn(self._z, evidence.numbers(self._chosen), weights)
        gradient = evidence.spread(derivative(self._free, drawn, along, threads))
        ones = gradient[:, : problem.n]
        pairs = gradient[:, problem.n :]
        return problem.restore(ones), problem.restore(pairs)
