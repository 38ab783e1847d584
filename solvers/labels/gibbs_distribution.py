"""Define the Gibbs distribution p(x) = exp(score(x)) / Z of label problems.

Its sums and samples are exact. If they are out of reach, log Z is bounded or estimated.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, overload

import numpy as np

from ..arrays import Array, ArrayT, beside, check_room, to_numpy
from ..errors import InfeasibleError, OptionError, ProblemError, UnsupportedProblemError, shortened
from ..gibbs_distribution.distribution import Distribution
from ..gibbs_distribution.estimate import ESTIMATES, Estimated, GibbsEstimate, is_estimated
from ..gibbs_distribution.samples import Direction, by_sample, checked_uniforms
from ..graph_breaks import between_graphs
from ..limits.deadline import Deadline
from ..limits.limited_sums import sums_within
from ..limits.time_limits import limit_of
from ..options import check_memory_limit
from .algorithms.sum_memory import room_for
from .completions import LabelCompletions, check_sizes
from .conditioned_sums import split_of
from .evidence import LabelEvidence
from .free_sums import FreeLabelSums, why_not_summed
from .gibbs_estimate import estimate_of_labels
from .problem import LabelProblem

Exact: TypeAlias = Literal["auto", "exact", "elimination"]

EXACT = ("auto", "exact", "elimination")
"""Names of the only method for exact sums over labels."""


@dataclass(frozen=True, eq=False)
class LabelGibbs(Distribution[LabelProblem[ArrayT], ArrayT]):
    """Distribution p(x) = exp(score(x)) / Z over labels: log Z, marginals, entropy and samples.

    All arrays have the leading dimensions of the problem (`batch` here) and are of the caller's
    kind. Samples are int64, and all other arrays are float64.

    Attributes:
        log_partition: `[batch]`, log Z in nats.
        bound: "exact".
        unary_marginals: `[batch, n, k]`, P(x_i = a); zero beyond `sizes`.
        pairwise_marginals: `[batch, e, k, k]`, P(x_i = a, x_j = b) of the pairs of `edges`.
        method: "elimination".
        problem: the problem of the distribution.
        samples: `[samples, batch, n]`, int64; None without uniforms.
    """

    _free: FreeLabelSums = field(repr=False)
    _evidence: LabelEvidence = field(repr=False)

    _LARGEST: ClassVar[float] = LabelCompletions._LARGEST

    def completions(
        self, uniforms: Any, variables: Any = None, *, threads: int | None = None
    ) -> LabelCompletions[ArrayT]:
        """Draw samples variable by variable, and complete each with other values.

        A completion changes a single variable to another of its values.

        The samples are those that `sample` gives for the same uniforms.

        Args:
            uniforms: as for `sample`.
            variables: `[m]` or `[samples, batch, m]`, the variables to complete; None for all that
                evidence does not fix.
            threads: as for bits; sums over labels use one thread.

        Raises:
            ProblemError: the uniforms or the variables have another shape or range, a chosen
                variable is fixed, or some variables have fewer values than others.

        Example:
            >>> pair = gibbs([[0.0, 0.0], [0.0, 0.0]], potts=9.0, edges=[[0, 1]])
            >>> found = pair.completions([[0.9, 0.9]], [1])
            >>> # the other variable follows, since it is drawn later
            >>> found.samples.tolist(), found.completed.tolist()
            ([[1, 1]], [[[[0, 0]]]])
        """
        check_sizes(self.problem, self._evidence)
        return LabelCompletions.drawn(
            self.problem, self._free, self._evidence, uniforms, variables, threads
        )

    def _uniforms_of_a_sample(self) -> tuple[int, ...]:
        return (self.problem.n,)

    def _entropies(self) -> Array:
        return self._free.entropies()

    def _draw(self, uniforms: np.ndarray, threads: int | None) -> np.ndarray:
        return self._evidence.states(self._free.drawn(self._evidence.uniforms(uniforms)))

    def _covariance(self, direction: Direction, threads: int | None) -> tuple[Array, Array]:
        along = self._evidence.gathered(direction)
        return self._evidence.spread(*self._free.covariance(along))


@overload
def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    fix: Any = None,
    uniforms: Any = None,
    method: Exact = "exact",
    memory: int | None = None,
    time_limit: float | Deadline | None = None,
) -> LabelGibbs: ...


@overload
def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    fix: Any = None,
    uniforms: None = None,
    method: Estimated,
    memory: int | None = None,
    time_limit: float | Deadline | None = None,
) -> GibbsEstimate[LabelProblem]: ...


@between_graphs
def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    fix: Any = None,
    uniforms: Any = None,
    method: Exact | Estimated = "exact",
    memory: int | None = None,
    time_limit: float | Deadline | None = None,
) -> LabelGibbs | GibbsEstimate[LabelProblem]:
    """Return log Z, marginals and samples of p(x) = exp(score(x)) / Z over labels.

    Elimination computes them exactly; other methods bound or estimate log Z.

    `solvers.gibbs` does the same with a `LabelProblem`, a `LabelConversion`, or bits.

    Args:
        unary: as for `solve`; or a `LabelProblem` alone.
        pairwise: as for `solve`.
        edges: as for `solve`.
        sizes: as for `solve`.
        potts: as for `solve`.
        fix: evidence, as for `solve`: {variable: value}, or `[..., n]` with -1 for a free variable.
            Z is then the sum over the assignments that agree.
        uniforms: None for no samples; `[samples, batch, n]`, float64, in [0, 1), one for each
            variable.
        method: "exact" needs elimination that is not too wide. The other methods take any graph.
            "trw" uses tree-reweighted messages, and its `log_partition` is an upper bound.
            "mean_field" uses a product of distributions, and gives a lower bound (minus infinity if
            no allowed labels were found). "loopy" uses belief propagation, and gives an estimate
            that is not a bound. "trw" and "loopy" are exact on trees.
        memory: maximum bytes of the tables of exact sums; None for a share of the free memory.
            With less memory, passes compute tables again; with even less, they run once for each
            assignment of a few variables. This is slower, and the results are the same up to
            rounding.
        time_limit: seconds for exact sums, as for `solvers.gibbs`; None for no limit.

    Returns:
        A `LabelGibbs`; for the other methods a `GibbsEstimate`, which says whether its
        `log_partition` is a bound, and has no samples.

    Raises:
        ProblemError: the arrays do not describe a problem, or the uniforms have another shape,
            range or precision.
        OptionError: the method is unknown; `fix` does not fit the problem; there are uniforms for a
            method that draws no samples; `memory` is not a whole number above zero; or `time_limit`
            is not positive.
        TimeLimitError: the time limit passed before the sums were complete.
        UnsupportedProblemError: elimination is too wide, or its tables have too many entries once
            they are split until they fit into memory.
        InfeasibleError: every assignment of an instance is forbidden.

    References:
        Koller and Friedman (2009), Probabilistic Graphical Models, chapters 9 and 12.

    Example:
        >>> result = gibbs([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], potts=1.0, edges=[[0, 1]])
        >>> round(float(result.log_partition), 6), result.pairwise_marginals[0].round(4).tolist()[0]
        (2.650057, [0.192, 0.0706, 0.0706])
        >>> seen = gibbs(result.problem, fix={0: 2})
        >>> seen.unary_marginals.round(4).tolist()[1]
        [0.2119, 0.2119, 0.5761]
    """
    problem = unary
    if not isinstance(problem, LabelProblem):
        problem = LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes, potts=potts)
    elif any(array is not None for array in (pairwise, edges, sizes, potts)):
        raise ProblemError("a LabelProblem has its pairs and sizes; pass it alone")
    with sums_within(limit_of(time_limit)):
        return sums_of_labels(problem, fix, uniforms, method, memory)


def sums_of_labels(
    problem: LabelProblem[ArrayT], fix: Any, uniforms: Any, method: Any, memory: Any = None
) -> LabelGibbs[ArrayT] | GibbsEstimate[LabelProblem[ArrayT], ArrayT]:
    """Return the sums of a problem, exact or not, over the assignments that agree with evidence.

    Arguments and errors are those of `gibbs`.
    """
    check_memory_limit(memory)
    evidence = LabelEvidence.of(problem, fix)
    if is_estimated(method, uniforms):
        return estimate_of_labels(problem, evidence, method)
    check_method(method)
    return _exact(problem, evidence, uniforms, memory)


def check_method(method: Any) -> None:
    """Raise if `method` is not the name of a method for exact sums over labels.

    Raises:
        OptionError: the method is unknown.
    """
    if not isinstance(method, str) or method not in EXACT:
        names = ", ".join(ESTIMATES)
        raise OptionError(f"method must be 'exact' or one of {names}; got {shortened(method)}")


def _exact(
    problem: LabelProblem[ArrayT], evidence: LabelEvidence, uniforms: Any, memory: int | None
) -> LabelGibbs[ArrayT]:
    rest = evidence.rest
    split = split_of(rest, room_for(memory))
    reason = why_not_summed(rest, split)
    if split is None:
        others = "method='trw' and method='mean_field' have bounds on log Z"
        raise UnsupportedProblemError("gibbs", (f"{reason}; {others}",))
    # The answer itself may be too large, so its size is checked before any sum.
    check_room(
        "the marginals of all pairs", problem.unary, problem.batch * problem.e * problem.k**2
    )
    numbers = None
    if uniforms is not None:
        numbers = checked_uniforms(problem, uniforms, (problem.n,))
    free = FreeLabelSums.of(rest, split)
    log_z = free.log_z
    # Z is 0 where every assignment is forbidden, and there is no distribution.
    if bool((to_numpy(log_z) == -np.inf).any()):
        raise InfeasibleError()
    ones, pairs = evidence.lifted(free.ones, free.pairs)
    samples = None
    if numbers is not None:
        z = evidence.states(free.drawn(evidence.uniforms(numbers)))
        samples = problem.home.place(by_sample(problem, z))
    return LabelGibbs(
        log_partition=problem.restore(log_z + beside(log_z, evidence.constant)),
        bound="exact",
        unary_marginals=problem.restore(ones),
        pairwise_marginals=problem.restore(pairs),
        method="elimination",
        problem=problem,
        samples=samples,
        _free=free,
        _evidence=evidence,
    )
