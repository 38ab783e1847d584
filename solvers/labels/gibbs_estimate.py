"""What is known of p(x) = exp(score(x)) / Z where its sums are out of reach: bounds on log Z, and marginals near it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, TypeAlias, get_args

import numpy as np

from ..arrays import ArrayT, check_room
from ..errors import OptionError, shortened
from .algorithms.sum_bounds import Sums, loopy, mean_field, tree_reweighted
from .problem import LabelProblem

Bound: TypeAlias = Literal["upper", "lower"]
Method: TypeAlias = Literal["trw", "mean_field", "loopy"]

METHODS: Final[tuple[Method, ...]] = get_args(Method)

_WAYS: Final[dict[str, tuple[Callable[[LabelProblem], Sums], Bound | None]]] = {
    "trw": (tree_reweighted, "upper"),
    "mean_field": (mean_field, "lower"),
    "loopy": (loopy, None),
}


@dataclass(frozen=True, eq=False)
class LabelGibbsEstimate(Generic[ArrayT]):
    """What `gibbs` finds of p(x) = exp(score(x)) / Z by a method that takes no sums over all assignments.

    Marginals are near those of p, without a promise. All arrays have the leading dimensions of the
    problem (`batch` here) and are of the caller's kind, float64.

    Attributes:
        log_partition: `[batch]`, in nats: a bound on log Z, or an estimate, as `bound` says.
        bound: "upper" or "lower": on which side of log Z `log_partition` is, up to the rounding of
            float64 sums; None where it is no bound.
        unary_marginals: `[batch, n, k]`, near P(x_i = a); zero beyond `sizes`.
        pairwise_marginals: `[batch, e, k, k]`, near P(x_i = a, x_j = b) of the pairs of `edges`.
        converged: `[batch]`, bool, whether passes ended because nothing changed; a bound is one in
            any case.
        problem: what was asked.
    """

    log_partition: ArrayT
    bound: Bound | None
    unary_marginals: ArrayT
    pairwise_marginals: ArrayT
    converged: ArrayT
    problem: LabelProblem[ArrayT]

    @property
    def edges(self) -> np.ndarray:
        """`[e, 2]`, i < j: the pair of each pairwise marginal."""
        return self.problem.edges


def estimated(problem: LabelProblem, method: Any) -> LabelGibbsEstimate:
    """What one of `METHODS` finds.

    Raises:
        OptionError: `method` is none of them.
        InfeasibleError: every assignment of an instance is forbidden.
        ProblemTooLargeError: memory does not hold the marginals of all pairs.
    """
    if not isinstance(method, str) or method not in _WAYS:
        raise OptionError(
            f"method must be 'exact' or one of {', '.join(_WAYS)}; got {shortened(method)}"
        )
    check_room(
        "the marginals of all pairs", problem.unary, problem.batch * problem.e * problem.k**2
    )
    way, bound = _WAYS[method]
    host = problem.to_host()
    found = [way(host.instances(slice(b, b + 1))) for b in range(host.batch)]
    log_z, of_variables, of_pairs, converged = (np.stack(part) for part in zip(*found, strict=True))
    return LabelGibbsEstimate(
        problem.restore(log_z),
        bound,
        problem.restore(of_variables),
        problem.restore(of_pairs),
        problem.restore(converged),
        problem,
    )
