"""Estimates of sums that are out of reach: bounds on log Z, and approximate marginals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args

from ..arrays import ArrayT
from ..errors import OptionError
from .distribution import Sums
from .samples import ProblemT

Estimated: TypeAlias = Literal["trw", "mean_field", "loopy"]

ESTIMATES: Final[tuple[Estimated, ...]] = get_args(Estimated)
"""Methods that take no sums over all states."""


def is_estimated(method: Any, uniforms: Any) -> bool:
    """Return whether a method takes no sums over all states, and check that it draws no samples.

    Raises:
        OptionError: there are uniforms for such a method.
    """
    if not isinstance(method, str) or method not in ESTIMATES:
        return False
    if uniforms is not None:
        raise OptionError(f"method={method!r} draws no samples; leave out uniforms")
    return True


@dataclass(frozen=True, eq=False)
class GibbsEstimate(Sums[ProblemT, ArrayT]):
    """Bound on or estimate of the sums of p(z) = exp(score(z)) / Z, from an approximate method.

    `log_partition` is a bound on log Z or an estimate, as `bound` says. A bound holds up to the
    rounding of float64 sums. Marginals are estimates of those of p, without an error bound. Their
    shapes are those of exact sums.

    Attributes:
        log_partition: `[batch]`, in nats.
        bound: "upper" or "lower" for a bound on log Z; None for an estimate.
        unary_marginals: `[batch, n]`, estimates of P(z_i = 1); for labels `[batch, n, k]`, of P(x_i
            = a).
        pairwise_marginals: `[batch, e]`, estimates of P(z_i = z_j = 1); for labels
            `[batch, e, k, k]`.
        method: "trw", "mean_field" or "loopy".
        problem: the problem of the sums.
        converged: `[batch]`, bool, whether passes ended because nothing changed; a bound is valid
            in any case.
    """

    converged: ArrayT
