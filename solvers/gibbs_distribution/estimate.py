"""What is known of sums that are out of reach: bounds on log Z, and marginals near those of p."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from ..arrays import ArrayT
from .distribution import Sums
from .samples import ProblemT

Estimated: TypeAlias = Literal["trw", "mean_field", "loopy"]

ESTIMATES: Final[tuple[Estimated, ...]] = get_args(Estimated)
"""Methods that take no sums over all states."""


@dataclass(frozen=True, eq=False)
class GibbsEstimate(Sums[ProblemT, ArrayT]):
    """Bound on or estimate of the sums of p(z) = exp(score(z)) / Z, from an approximate method.

    `log_partition` is a bound on log Z or an estimate, as `bound` says; a bound holds up to the
    rounding of float64 sums. Marginals are near those of p, without a promise: they are no bounds.
    Their shapes are those of exact sums.

    Attributes:
        log_partition: `[batch]`, in nats.
        bound: "upper" or "lower": on which side of log Z `log_partition` is; None where it is no
            bound.
        unary_marginals: `[batch, n]`, near P(z_i = 1); of labels `[batch, n, k]`, near P(x_i = a).
        pairwise_marginals: `[batch, e]`, near P(z_i = z_j = 1); of labels `[batch, e, k, k]`.
        method: "trw", "mean_field" or "loopy".
        problem: what was asked.
        converged: `[batch]`, bool, whether passes ended because nothing changed; a bound is one in
            any case.
    """

    converged: ArrayT
