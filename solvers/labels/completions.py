"""Draw labels variable by variable, and complete the samples with other values.

A completion shows what a sample would be if one variable had another value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..arrays import ArrayT
from ..errors import ProblemError
from ..gibbs_distribution.completions import SampleCompletions
from ..options import check_threads
from .evidence import LabelEvidence
from .free_sums import FreeLabelSums
from .problem import LabelProblem


@dataclass(frozen=True, eq=False)
class LabelCompletions(SampleCompletions[LabelProblem[ArrayT], ArrayT]):
    """Samples of labels from p(x) ~ exp(score(x)), and their completions.

    The samples are drawn variable by variable.

    A completion gives a variable v another value. It keeps the sample's values of the variables
    that were drawn before v, and draws the variables after v by the same uniforms. So it is a
    sample of the rest given the earlier values and the new one. Values are int64, of the caller's
    kind, with the leading dimensions of the problem (`batch` here).

    Attributes:
        samples: `[samples, batch, n]`.
        variables: `[samples, batch, m]`, numpy, the completed variables.
        completed: `[samples, m, k - 1, batch, n]`: in the r-th completion of v, x_v is the sample's
            value plus 1 + r, modulo k.
        conditionals: `[samples, batch, m, k]`, float64, the probabilities of each value of these
            variables, given the values that the sample drew before.

    References:
        Tokui, Sato (2017), Evaluating the variance of likelihood-ratio gradient estimators: all
        values of one variable, the others by common random numbers.
    """

    _LARGEST: ClassVar[float] = 1e290
    """Largest magnitude of a direction, so that sums over its numbers are finite."""

    _free: FreeLabelSums = field(repr=False)
    _evidence: LabelEvidence = field(repr=False)

    def derivative(
        self, costs: Any, unary: Any = None, pairwise: Any = None, *, threads: int | None = None
    ) -> tuple[ArrayT, ArrayT]:
        """Return the gradient in the scores of a cost-weighted sum of conditionals.

        The sum is over costs * P(x_v = a | drawn before), with the samples held fixed.

        The sum is over samples, their variables and all values. With the costs of a sample and of
        its completions, over all variables, its expectation is the gradient of the expected cost.

        With a direction d, `unary` and `pairwise`, the gradient of d . marginals is added, which is
        `LabelGibbs.covariance_product`.

        Args:
            costs: `[samples, batch, m, k]`, finite, the cost of the state in which the variable has
                the value.
            unary: `[batch, n, k]`, or an array that broadcasts to it: the part of d for the
                marginals of variables, finite; None for zeros.
            pairwise: `[batch, e, k, k]`, the part of d for the marginals of pairs; None for zeros.
            threads: as for bits; sums over labels use one thread.

        Returns:
            `[batch, n, k]` and `[batch, e, k, k]`, float64.

        Raises:
            ProblemError: the costs have another shape, a part of the direction does not broadcast
                to its shape, or a number is not finite.

        Example:
            >>> from solvers import labels
            >>> pair = labels.gibbs([[0.0, 0.0], [0.0, 0.0]], potts=0.0, edges=[[0, 1]])
            >>> completions = pair.completions([[0.6, 0.4]])
            >>> completions.samples.tolist(), completions.completed.tolist()
            ([[1, 0]], [[[[0, 0]], [[1, 1]]]])
            >>> completions.derivative([[[0.0, 4.0], [0.0, 0.0]]])[0].tolist()
            [[-1.0, 1.0], [0.0, 0.0]]
        """
        check_threads(threads)
        problem = self._problem
        evidence = self._evidence
        free = self._free
        of_chosen = self._weights("costs", costs)
        ones, pairs = free.pulled_back(self._z, evidence.numbers(self._chosen), of_chosen)
        shapes = (problem.n, problem.k), (problem.e, problem.k, problem.k)
        direction = self._direction(unary, pairwise, shapes)
        if direction is not None:
            of_ones, of_pairs = free.covariance(evidence.gathered(direction))
            ones = ones + of_ones
            pairs = pairs + of_pairs
        ones, pairs = evidence.spread(ones, pairs)
        return problem.restore(ones), problem.restore(pairs)


def check_sizes(problem: LabelProblem, evidence: LabelEvidence) -> None:
    """Raise if some variables without evidence have fewer values than others.

    Raises:
        ProblemError: they have.
    """
    sizes = problem.sizes[evidence.places]
    if (sizes != problem.k).any():
        raise ProblemError(
            "completions need variables with as many values each; "
            f"here they have {sizes.min()} to {problem.k}"
        )
