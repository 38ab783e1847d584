"""Estimate p(x) = exp(score(x)) / Z if its exact sums are out of reach.

An estimate has a bound on log Z or a value near it, and approximate marginals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from ..arrays import ArrayT, check_room
from ..gibbs_distribution.distribution import Bound
from ..gibbs_distribution.estimate import Estimated, GibbsEstimate
from .algorithms.sum_bounds import Sums, loopy, mean_field, tree_reweighted
from .evidence import LabelEvidence
from .problem import LabelProblem

BOUNDS: Final[dict[Estimated, Bound]] = {"trw": "upper", "mean_field": "lower", "loopy": None}
"""Relation of each method's number to log Z: a bound or an estimate."""

_WAYS: Final[dict[Estimated, Callable[[LabelProblem], Sums]]] = {
    "trw": tree_reweighted,
    "mean_field": mean_field,
    "loopy": loopy,
}


def estimate_of_labels(
    problem: LabelProblem[ArrayT], evidence: LabelEvidence, method: Estimated
) -> GibbsEstimate[LabelProblem[ArrayT], ArrayT]:
    """Return the estimates of a method that takes no sums over all assignments.

    Args:
        problem: the caller's problem.
        evidence: the values of some of its variables.
        method: "trw", "mean_field" or "loopy".

    Raises:
        InfeasibleError: every assignment of an instance is forbidden.
        ProblemTooLargeError: the marginals of all pairs do not fit into memory.
    """
    check_room(
        "the marginals of all pairs", problem.unary, problem.batch * problem.e * problem.k**2
    )
    estimates = estimated(evidence.rest.to_host(), method)
    ones, pairs = evidence.lifted(estimates.of_variables, estimates.of_pairs)
    return GibbsEstimate(
        log_partition=problem.restore(estimates.log_partition + evidence.constant),
        bound=BOUNDS[method],
        unary_marginals=problem.restore(ones),
        pairwise_marginals=problem.restore(pairs),
        method=method,
        problem=problem,
        converged=problem.restore(estimates.converged),
    )


class Estimates(NamedTuple):
    """Estimates of a method for each instance.

    Attributes:
        log_partition: `[batch]`.
        of_variables: `[batch, n, k]`, probabilities.
        of_pairs: `[batch, e, k, k]`, probabilities.
        converged: `[batch]`, bool.
    """

    log_partition: np.ndarray
    of_variables: np.ndarray
    of_pairs: np.ndarray
    converged: np.ndarray


def estimated(problem: LabelProblem, method: Estimated) -> Estimates:
    """Return the estimates of a method for each instance of a host problem.

    Raises:
        InfeasibleError: every assignment of an instance is forbidden.
    """
    if not problem.batch:
        return _of_nothing(problem)
    one_by_one = (problem.instances(slice(b, b + 1)) for b in range(problem.batch))
    estimates = [_WAYS[method](instance) for instance in one_by_one]
    return Estimates(*(np.stack(arrays) for arrays in zip(*estimates, strict=True)))


def _of_nothing(problem: LabelProblem) -> Estimates:
    """Return the estimates of a batch without instances."""
    k = problem.k
    return Estimates(
        np.zeros(0),
        np.zeros((0, problem.n, k)),
        np.zeros((0, problem.e, k, k)),
        np.zeros(0, bool),
    )
