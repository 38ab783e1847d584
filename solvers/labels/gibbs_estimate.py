"""What is known of p(x) = exp(score(x)) / Z where its sums are out of reach: bounds on log Z, and marginals near it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from ..arrays import ArrayT, check_room
from ..gibbs_distribution.distribution import Bound
from ..gibbs_distribution.estimate import Estimated, GibbsEstimate
from .algorithms.sum_bounds import Sums, loopy, mean_field, tree_reweighted
from .problem import LabelProblem

_WAYS: Final[dict[Estimated, tuple[Callable[[LabelProblem], Sums], Bound]]] = {
    "trw": (tree_reweighted, "upper"),
    "mean_field": (mean_field, "lower"),
    "loopy": (loopy, None),
}


def estimated(
    problem: LabelProblem[ArrayT], method: Estimated
) -> GibbsEstimate[LabelProblem[ArrayT], ArrayT]:
    """What a method finds that takes no sums over all assignments.

    Raises:
        InfeasibleError: every assignment of an instance is forbidden.
        ProblemTooLargeError: memory does not hold the marginals of all pairs.
    """
    check_room(
        "the marginals of all pairs", problem.unary, problem.batch * problem.e * problem.k**2
    )
    way, bound = _WAYS[method]
    host = problem.to_host()
    found = [way(host.instances(slice(b, b + 1))) for b in range(host.batch)]
    log_z, of_variables, of_pairs, converged = (np.stack(part) for part in zip(*found, strict=True))
    return GibbsEstimate(
        log_partition=problem.restore(log_z),
        bound=bound,
        unary_marginals=problem.restore(of_variables),
        pairwise_marginals=problem.restore(of_pairs),
        method=method,
        problem=problem,
        converged=problem.restore(converged),
    )
