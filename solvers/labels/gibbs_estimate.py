"""Estimate p(x) = exp(score(x)) / Z if its exact sums are out of reach.

An estimate has a bound on log Z or a value near it, and approximate marginals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from ..arrays import Array, ArrayT, check_room
from ..gibbs_distribution.distribution import Bound
from ..gibbs_distribution.estimate import Estimated, GibbsEstimate
from ..gibbs_distribution.evidence import Evidence
from ..gibbs_distribution.samples import ProblemT
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
    marginals = evidence.lifted(estimates.of_variables, estimates.of_pairs)
    return restored(problem, evidence, estimates, marginals, method)


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


def restored(
    problem: ProblemT,
    evidence: Evidence[ProblemT],
    estimates: Estimates,
    marginals: tuple[Array, Array],
    method: Estimated,
) -> GibbsEstimate[ProblemT, Any]:
    """Return estimates of the variables without evidence in the form of the caller's problem.

    Args:
        problem: the caller's problem, over bits or labels.
        evidence: the values of some of its variables.
        estimates: of the other variables.
        marginals: of all variables and of all pairs.
        method: "trw", "mean_field" or "loopy".
    """
    restore = problem.restore
    return GibbsEstimate(
        log_partition=restore(estimates.log_partition + evidence.constant),
        bound=BOUNDS[method],
        unary_marginals=restore(marginals[0]),
        pairwise_marginals=restore(marginals[1]),
        method=method,
        problem=problem,
        converged=restore(estimates.converged),
    )


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
