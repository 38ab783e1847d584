"""`gibbs`: check the arguments, compute sums over states, and return the caller's answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Literal, TypeAlias, TypedDict, overload

import numpy as np
from typing_extensions import Unpack

from ..arrays import ArrayLike, ArrayOf, ArrayT
from ..conversions import AnyConversion
from ..errors import OptionError, ProblemError, UnsupportedProblemError, shortened
from ..gibbs_distribution.bit_evidence import BitEvidence
from ..gibbs_distribution.bits import Gibbs, sums_of_bits, uniforms_of_bits
from ..gibbs_distribution.estimate import Estimated, GibbsEstimate, is_estimated
from ..graph_breaks import between_graphs
from ..labels.gibbs_distribution import LabelGibbs, check_method, sums_of_labels
from ..labels.problem import LabelProblem
from ..limits.deadline import Deadline
from ..limits.limited_sums import sums_within
from ..limits.time_limits import limit_of
from ..options import check_memory_limit, check_threads
from ..problems.any_problem import check_kind
from ..problems.fixed_values import values_of
from ..problems.problem import Problem
from ..solving.bits.fixing import Fixing
from .answer import GibbsAnswer, answered
from .two_labels import TwoLabelSums, estimate_of_bits

Exact: TypeAlias = Literal["auto", "exact", "enumeration", "elimination"]
AnyProblem: TypeAlias = Problem | LabelProblem

_CHECKED = (Problem, LabelProblem, AnyConversion)


class Options(TypedDict, total=False):
    """The options of `gibbs` with a method that estimates; `gibbs` documents them."""

    fix: Any
    threads: int | None
    memory: int | None
    time_limit: float | Deadline | None


class ExactOptions(Options, total=False):
    """The options of `gibbs` with a method for exact sums; `gibbs` documents them."""

    uniforms: Any


@overload
def gibbs(
    unary: AnyConversion[Any],
    *,
    method: Exact | Estimated = "auto",
    **options: Unpack[ExactOptions],
) -> GibbsAnswer: ...
@overload
def gibbs(
    unary: LabelProblem[ArrayT], *, method: Exact = "auto", **options: Unpack[ExactOptions]
) -> LabelGibbs[ArrayT]: ...
@overload
def gibbs(
    unary: LabelProblem[ArrayT], *, method: Estimated, **options: Unpack[Options]
) -> GibbsEstimate[LabelProblem[ArrayT], ArrayT]: ...
@overload
def gibbs(
    unary: Problem[ArrayT], *, method: Exact = "auto", **options: Unpack[ExactOptions]
) -> Gibbs[ArrayT]: ...
@overload
def gibbs(
    unary: Problem[ArrayT], *, method: Estimated, **options: Unpack[Options]
) -> GibbsEstimate[Problem[ArrayT], ArrayT]: ...
@overload
def gibbs(
    unary: ArrayLike,
    pairwise: ArrayLike | None = None,
    *,
    edges: Any = None,
    method: Exact = "auto",
    **options: Unpack[ExactOptions],
) -> Gibbs[np.ndarray]: ...
@overload
def gibbs(
    unary: ArrayLike,
    pairwise: ArrayLike | None = None,
    *,
    edges: Any = None,
    method: Estimated,
    **options: Unpack[Options],
) -> GibbsEstimate[Problem[np.ndarray], np.ndarray]: ...
@overload
def gibbs(
    unary: ArrayOf[ArrayT],
    pairwise: ArrayOf[ArrayT] | None = None,
    *,
    edges: Any = None,
    method: Exact = "auto",
    **options: Unpack[ExactOptions],
) -> Gibbs[ArrayT]: ...
@overload
def gibbs(
    unary: ArrayOf[ArrayT],
    pairwise: ArrayOf[ArrayT] | None = None,
    *,
    edges: Any = None,
    method: Estimated,
    **options: Unpack[Options],
) -> GibbsEstimate[Problem[ArrayT], ArrayT]: ...
@between_graphs
def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    fix: Any = None,
    uniforms: Any = None,
    method: Any = "auto",
    threads: int | None = None,
    memory: int | None = None,
    time_limit: float | Deadline | None = None,
) -> Gibbs | LabelGibbs | GibbsEstimate | GibbsAnswer:
    """Compute log Z, marginals and samples of p(z) = exp(score(z)) / Z, exactly or approximately.

    score(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j,  Z = sum_z exp(score(z))

    Up to 20 variables, all states are enumerated. For more variables, elimination needs a small
    treewidth: about 20, and up to 25 if few separators are that large. Neither overflows at any
    magnitude of scores. If the absolute scores of an instance add up to S, log Z and the
    probabilities are accurate to a few times (n + e + S) * 1e-16. Enumeration gives small
    probabilities to that relative accuracy too, down to 1e-300.

    A sample is the inverse of a cumulative distribution at the caller's uniform numbers in [0, 1),
    so equal uniforms give equal samples:

    *   enumeration takes one uniform per sample. With states in the order of sum_i z_i 2^i, the
        sample is the first whose cumulative probability exceeds the uniform. The 53 bits of a
        float64 draw meet each state with its probability up to 2^-53. So over 2^20 states the
        distribution is within 2^-33 in total variation, and rounding adds as much as it does to
        probabilities.
    *   elimination takes one uniform per variable: z_i = 1 if the i-th uniform is less than the
        probability of z_i = 1, given the variables drawn before.

    `uniforms_shape` gives the shape to draw.

    Args:
        unary: `[..., n]`, arrays as in `solve`; `batch` denotes their leading dimensions. Or a
            `Problem`, a `LabelProblem`, a `Conversion` or a `LabelConversion`, without other
            arrays. Arrays of labels go to `solvers.labels.gibbs`.
        pairwise: None; `[..., n, n]`; or `[..., e]` with `edges`.
        edges: `[e, 2]`, the pairs, shared by the batch.
        fix: evidence: variables that keep a value, as for `solve`. It is {i: value}, or `[n]` or
            `[..., n]` with -1 for a free variable, where instances may fix different variables; for
            a conversion it is {name: value}. Z is then the sum over the states that agree with the
            evidence. So log P(evidence) is this log Z minus log Z without evidence. Probabilities,
            entropy and samples are conditional on the evidence. Fewer variables remain to sum over
            if all instances fix the same ones, which may bring exact sums into reach.
        uniforms: None for no samples; `[samples, batch]` for enumeration, `[samples, batch, n]` for
            elimination, float64, in [0, 1).
        method: "auto" or "exact" for exact sums by any method; or "enumeration" (only bits) or
            "elimination". The other methods take any graph, and treat bits as labels of two values.
            "trw" uses tree-reweighted messages, and its `log_partition` is an upper bound on log Z.
            "mean_field" uses a product of distributions, and gives a lower bound. "loopy" uses
            belief propagation, and gives an estimate that is not a bound.
        threads: maximum number of threads for bits; None for all cores.
        memory: maximum bytes of the tables of elimination; None for a share of the free memory.
            With less memory, passes compute tables again; with even less, they run once for each
            assignment of a few variables. This is slower, and the results are the same up to
            rounding.
        time_limit: seconds for exact sums, or a `Deadline`; None for no limit. Sums have no result
            before they end. So the call raises `TimeLimitError` as soon as the current step of
            elimination ends. Later calls of the result, such as `sample`, have no limit; Ctrl-C
            ends them.

    Returns:
        A `Gibbs`; for a `LabelProblem`, a `LabelGibbs`. A method that is not exact gives a
        `GibbsEstimate`, whose `bound` says whether its `log_partition` is a bound. A conversion
        gives a `GibbsAnswer`, with names, and log Z of its own objective with the constant.

    Raises:
        ProblemError: the arrays do not describe a problem, or the uniforms have another shape,
            range or precision.
        UnsupportedProblemError: enumeration has too many variables, and elimination has too large a
            treewidth, or too many table entries once tables are split to fit into memory. Or a
            conversion has constraints or capped capacities, so that its problem has other sums.
        InfeasibleError: every assignment of labels is forbidden.
        OptionError: the method is unknown; `threads` is not a valid number; `fix` does not fit the
            problem; there are uniforms for a method that draws no samples; `memory` is not a whole
            number above zero; or `time_limit` is not positive.
        TimeLimitError: the time limit passed before the sums were complete.

    References:
        Koller and Friedman (2009), Probabilistic Graphical Models, chapters 9 and 12.
        Wainwright, Jaakkola, Willsky (2005), A new class of upper bounds on the log partition
        function.

    Example:
        >>> result = gibbs([0.0, 0.0], [[0.0, 1.0], [0.0, 0.0]], uniforms=[0.1, 0.9])
        >>> round(float(result.log_partition), 6), result.unary_marginals.round(6).tolist()
        (1.743668, [0.650245, 0.650245])
        >>> result.samples.tolist()
        [[0, 0], [1, 1]]
        >>> seen = gibbs(result.problem, fix={0: 1})
        >>> seen.unary_marginals.round(6).tolist()
        [1.0, 0.731059]
    """
    check_threads(threads)
    check_memory_limit(memory)
    with sums_within(limit_of(time_limit)):
        if not isinstance(unary, _CHECKED):
            problem = Problem.from_arrays(unary, pairwise, edges=edges)
            return _sums_of_bits(problem, fix, uniforms, method, threads, memory)
        if pairwise is not None or edges is not None:
            raise ProblemError(
                f"a {type(unary).__name__} has its pairs; pass neither pairwise nor edges"
            )
        if not isinstance(unary, AnyConversion):
            return _sums_of(unary, fix, uniforms, method, threads, memory)
        _check_sums(unary)
        places = evidence_of(unary, fix)
        return answered(unary, _sums_of(unary.problem, places, uniforms, method, threads, memory))


def uniforms_shape(
    problem: AnyProblem | AnyConversion[Any],
    samples: int,
    method: Exact = "auto",
    *,
    fix: Any = None,
) -> tuple[int, ...]:
    """Return the shape of the uniform random numbers that `gibbs` turns into samples.

    Args:
        problem: `Problem.from_arrays` of the same arrays; or a `LabelProblem` or a conversion.
        samples: number of samples.
        method: as for `gibbs`.
        fix: as for `gibbs`.

    Raises:
        ProblemError: it is not a problem.
        UnsupportedProblemError: as for `gibbs`.
        OptionError: the method is unknown, or `fix` does not fit the problem.

    Example:
        >>> uniforms_shape(Problem.from_arrays([[0.0] * 5]), 3)
        (3, 1)
        >>> uniforms_shape(Problem.from_arrays([[0.0] * 50]), 3)
        (3, 1, 50)
        >>> uniforms_shape(Problem.from_arrays([[0.0] * 50]), 3, fix={i: 0 for i in range(40)})
        (3, 1)
    """
    whole: Any = problem
    if isinstance(problem, AnyConversion):
        fix = evidence_of(problem, fix)
        whole = problem.problem
    if isinstance(whole, LabelProblem):
        check_method(method)
        return (samples, *whole.leading, whole.n)
    check_kind(whole, Problem)
    rest = _evidence(whole, fix).rest
    return (samples, *whole.leading, *uniforms_of_bits(whole, rest, method))


def _sums_of(
    problem: AnyProblem,
    fix: Any,
    uniforms: Any,
    method: Any,
    threads: int | None,
    memory: int | None,
) -> Gibbs | LabelGibbs | GibbsEstimate:
    if isinstance(problem, LabelProblem):
        return sums_of_labels(problem, fix, uniforms, method, memory)
    return _sums_of_bits(problem, fix, uniforms, method, threads, memory)


def _sums_of_bits(
    problem: Problem,
    fix: Any,
    uniforms: Any,
    method: Any,
    threads: int | None,
    memory: int | None,
) -> Gibbs | GibbsEstimate:
    evidence = _evidence(problem, fix)
    if is_estimated(method, uniforms):
        return estimate_of_bits(problem, evidence, method)
    beyond = partial(TwoLabelSums.of, memory=memory)
    return sums_of_bits(problem, evidence, uniforms, method, threads, memory, beyond)


def fixed_of(problem: AnyProblem, fix: Any) -> dict[int, int]:
    """Return {variable: value} of the variables that a caller fixes in one instance.

    Raises:
        OptionError: `fix` does not fit the problem.
    """
    if fix is None:
        return {}
    values = values_of(problem, fix)[0]
    return {int(place): int(values[place]) for place in np.flatnonzero(values >= 0)}


def _evidence(problem: Problem, fix: Any) -> BitEvidence:
    """Return the variables that keep a value.

    Raises:
        OptionError: `fix` does not fit the problem.
    """
    host = problem.to_host()
    if fix is None and problem.n:
        return BitEvidence.none(host)
    fixing = Fixing.of(problem, fix)
    if not problem.n:  # no variable is free
        return BitEvidence.of(
            host, np.zeros((problem.batch, 0), np.int8), np.zeros(problem.batch), None
        )
    if not problem.batch:
        return BitEvidence.none(host)
    return BitEvidence.of(fixing.problem, fixing.values, fixing.constant, fixing.rest)


def evidence_of(conversion: AnyConversion[Any], fix: Any) -> dict[int, int] | None:
    """Return {place: value} of the variables that a caller or the conversion fixes.

    Raises:
        OptionError: `fix` does not fit the conversion.
    """
    if fix is not None and not isinstance(fix, Mapping):
        raise OptionError(f"fix of a conversion is {{name: value}}; got {shortened(fix)}")
    places = {**conversion.states(fix or {}), **conversion.fixed}
    return places or None


def _check_sums(conversion: AnyConversion[Any]) -> None:
    """Raise if the problem of a conversion has other sums than its original objective.

    Raises:
        UnsupportedProblemError: the conversion has constraints, capped capacities or auxiliary
            bits.
    """
    if reason := conversion.why_not_counted():
        raise UnsupportedProblemError("gibbs", (reason,))
    original = conversion.original
    if original is not None and not original.is_solved_exactly:
        raise UnsupportedProblemError(
            "gibbs",
            (
                "capacities that no minimum cut crosses were capped, which keeps the minimum and "
                "not the sums; give them finite values of the size of the others",
            ),
        )
    if conversion.constraints:
        raise UnsupportedProblemError(
            "gibbs",
            (
                f"the conversion has {len(conversion.constraints)} constraints, and sums are over "
                "all states; pass its .problem for sums that ignore them",
            ),
        )
