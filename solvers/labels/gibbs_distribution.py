"""The Gibbs distribution p(x) = exp(score(x)) / Z of label problems: exact sums and samples, or what bounds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, TypeAlias, overload

import numpy as np

from ..arrays import Array, ArrayT, as_float64, beside, check_room, namespace_of, to_numpy
from ..errors import InfeasibleError, OptionError, ProblemError, UnsupportedProblemError, shortened
from ..gibbs_distribution.distribution import Distribution
from ..gibbs_distribution.estimate import ESTIMATES, Estimated, GibbsEstimate
from ..gibbs_distribution.samples import Direction, by_sample, checked_uniforms
from ..options import check_threads
from .algorithms.buckets import Buckets, buckets_of, in_parts, why_not_eliminated
from .algorithms.sum_product import Conditionals
from .completions import LARGEST, LabelCompletions, complete, concatenated, covariance, drawn
from .fixing import FREE, values_of, with_values
from .gibbs_estimate import estimated
from .problem import LabelProblem

Exact: TypeAlias = Literal["auto", "exact", "elimination"]

EXACT = ("auto", "exact", "elimination")
"""Names of the one way to exact sums over labels."""


@dataclass(frozen=True, eq=False)
class LabelGibbs(Distribution[LabelProblem[ArrayT], ArrayT]):
    """What `gibbs` finds of p(x) = exp(score(x)) / Z over labels.

    All arrays have the leading dimensions of the problem (`batch` here) and are of the caller's
    kind; all but the samples are float64.

    Attributes:
        log_partition: `[batch]`, log Z in nats.
        bound: "exact".
        unary_marginals: `[batch, n, k]`, P(x_i = a); zero beyond `sizes`.
        pairwise_marginals: `[batch, e, k, k]`, P(x_i = a, x_j = b) of the pairs of `edges`.
        method: "elimination".
        problem: what was asked; other values of variables with evidence are forbidden.
        samples: `[samples, batch, n]`, int64; None where no uniforms were given.
    """

    _parts: tuple[Conditionals, ...] = field(repr=False)
    _fixed: np.ndarray = field(repr=False)

    _LARGEST: ClassVar[float] = LARGEST

    def completions(
        self, uniforms: Any, variables: Any = None, *, threads: int | None = None
    ) -> LabelCompletions[ArrayT]:
        """Samples, drawn variable by variable, and each of them completed with the other values of single variables.

        The samples are those that `sample` gives for the same uniforms.

        Args:
            uniforms: as for `sample`.
            variables: `[m]` or `[samples, batch, m]`, which to complete; None for all that are not
                fixed by evidence.
            threads: as over bits; sums over labels take one.

        Raises:
            ProblemError: the uniforms or the variables have another shape or range; or one of them
                is fixed; or some variables have fewer values than others.

        Example:
            >>> pair = gibbs([[0.0, 0.0], [0.0, 0.0]], potts=9.0, edges=[[0, 1]])
            >>> found = pair.completions([[0.9, 0.9]], [1])
            >>> found.samples.tolist(), found.completed.tolist()  # the other follows, being drawn later
            ([[1, 1]], [[[[0, 0]]]])
        """
        check_threads(threads)
        numbers = checked_uniforms(self.problem, uniforms, (self.problem.n,))
        return complete(self.problem, self._parts, numbers, variables, self._fixed)

    def _uniforms_of_a_sample(self) -> tuple[int, ...]:
        return (self.problem.n,)

    def _entropies(self) -> Array:
        problem = self.problem
        xp = namespace_of(problem.unary)
        ones, pairs = (
            xp.reshape(
                beside(problem.unary, to_numpy(part)),
                (problem.batch, *part.shape[len(problem.leading) :]),
            )
            for part in (self.unary_marginals, self.pairwise_marginals)
        )
        mean = xp.sum(xp.reshape(ones * _finite(problem.unary), (problem.batch, -1)), axis=-1)
        for edge in range(problem.e):
            i, j = problem.topology.pairs[edge]
            table = _finite(problem.pairwise(edge))
            probabilities = pairs[:, edge, : problem.sizes[i], : problem.sizes[j]]
            mean = mean + xp.sum(probabilities * table, axis=(1, 2))
        log_z = xp.concat([part.log_partition for part in self._parts], axis=0)
        return log_z - mean

    def _draw(self, uniforms: np.ndarray, threads: int | None) -> np.ndarray:
        return drawn(self._parts, uniforms)

    def _covariance(self, direction: Direction, threads: int | None) -> tuple[Array, Array]:
        return covariance(self.problem, self._parts, direction)


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
) -> GibbsEstimate[LabelProblem]: ...


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
) -> LabelGibbs | GibbsEstimate[LabelProblem]:
    """Log-partition, marginals and samples of p(x) = exp(score(x)) / Z, exact, by elimination; or what bounds log Z.

    `solvers.gibbs` does the same with a `LabelProblem`, a `LabelConversion`, or bits.

    Args:
        unary: as for `solve`; or a `LabelProblem` alone.
        pairwise: as for `solve`.
        edges: as for `solve`.
        sizes: as for `solve`.
        potts: as for `solve`.
        fix: evidence, as for `solve`: {variable: value}, or `[..., n]` with -1 for a free variable.
            Z is then the sum over the assignments that agree.
        uniforms: None for no samples; `[samples, batch, n]`, float64, in [0, 1), one a variable.
        method: "exact", as far as tables fit into memory. Elsewhere, on any graph: "trw",
            tree-reweighted messages, whose `log_partition` is an upper bound; "mean_field", a
            product of distributions, and a lower bound (minus infinity where no allowed labels were
            found); or "loopy", belief propagation, an estimate that is no bound. "trw" and "loopy"
            are exact on trees.

    Returns:
        `LabelGibbs`; of the other methods a `GibbsEstimate`, which says what its `log_partition`
        is and has no samples.

    Raises:
        ProblemError: the arrays do not describe a problem, or the uniforms have another shape,
            range or precision.
        OptionError: there is no such method; `fix` does not fit the problem; or there are uniforms
            for a method that draws no samples.
        UnsupportedProblemError: the tables do not fit into the free memory.
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
    elif any(part is not None for part in (pairwise, edges, sizes, potts)):
        raise ProblemError("a LabelProblem has its pairs and sizes; pass it alone")
    return sums_of_labels(problem, fix, uniforms, method)


def sums_of_labels(
    problem: LabelProblem[ArrayT], fix: Any, uniforms: Any, method: Any
) -> LabelGibbs[ArrayT] | GibbsEstimate[LabelProblem[ArrayT], ArrayT]:
    """Return the sums of a problem, exact or not, over the assignments that agree with evidence.

    Arguments and errors are those of `gibbs`.
    """
    fixed = np.zeros(problem.n, bool)
    if fix is not None:
        fixed = (values_of(problem, fix) != FREE).any(axis=0)
        problem = with_values(problem, fix)
    if isinstance(method, str) and method in ESTIMATES:
        if uniforms is not None:
            raise OptionError(f"method={method!r} draws no samples; leave out uniforms")
        return estimated(problem, method)
    check_method(method)
    return _exact(problem, uniforms, fixed)


def check_method(method: Any) -> None:
    """Refuse what names no way to exact sums over labels.

    Raises:
        OptionError: it names none.
    """
    if not isinstance(method, str) or method not in EXACT:
        names = ", ".join(ESTIMATES)
        raise OptionError(f"method must be 'exact' or one of {names}; got {shortened(method)}")


def _exact(problem: LabelProblem[ArrayT], uniforms: Any, fixed: np.ndarray) -> LabelGibbs[ArrayT]:
    if reason := why_not_eliminated(problem, lambda buckets: _bytes_of(problem, buckets)):
        others = "method='trw' and method='mean_field' have bounds on log Z"
        raise UnsupportedProblemError("gibbs", (f"{reason}; {others}",))
    check_room(
        "the marginals of all pairs", problem.unary, problem.batch * problem.e * problem.k**2
    )
    numbers = None
    if uniforms is not None:
        numbers = checked_uniforms(problem, uniforms, (problem.n,))
    buckets = buckets_of(problem)
    parts = tuple(Conditionals.of(part, buckets) for part in in_parts(problem, buckets))
    if any(bool((to_numpy(part.log_partition) == -np.inf).any()) for part in parts):
        raise InfeasibleError()
    ones, pairs = concatenated(problem, [part.marginals() for part in parts])
    log_z = namespace_of(problem.unary).concat([part.log_partition for part in parts], axis=0)
    samples = None
    if numbers is not None:
        samples = problem.home.place(by_sample(problem, drawn(parts, numbers)))
    return LabelGibbs(
        log_partition=problem.restore(log_z),
        bound="exact",
        unary_marginals=problem.restore(ones),
        pairwise_marginals=problem.restore(pairs),
        method="elimination",
        problem=problem,
        samples=samples,
        _parts=parts,
        _fixed=fixed,
    )


def _bytes_of(problem: LabelProblem, buckets: Buckets) -> int:
    """The conditionals of the whole batch, and some of the largest."""
    return 8 * (problem.batch * buckets.entries + 4 * buckets.largest)


def _finite(scores: Array) -> Array:
    """Float64 scores; zero for what is forbidden, which has no probability."""
    xp = namespace_of(scores)
    values = as_float64(scores)
    return xp.where(xp.isinf(values), xp.zeros_like(values), values)
