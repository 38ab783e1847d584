"""The Gibbs distribution p(x) = exp(score(x)) / Z of label problems: exact sums and samples, or what bounds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, Literal, overload

import numpy as np

from ..arrays import Array, ArrayT, as_array, as_float64, beside, check_room, namespace_of, to_numpy
from ..errors import InfeasibleError, ProblemError, UnsupportedProblemError
from ..gibbs_distribution.samples import by_sample, checked_uniforms
from .algorithms.buckets import Buckets, buckets_of, in_parts, why_not_eliminated
from .algorithms.sum_product import Conditionals
from .completions import LabelCompletions, complete, drawn
from .gibbs_estimate import LabelGibbsEstimate, Method, estimated
from .problem import LabelProblem

LARGEST = 1e290
"""Of a direction, so that sums over its numbers are finite."""


@dataclass(frozen=True, eq=False)
class LabelGibbs(Generic[ArrayT]):
    """What `gibbs` finds of p(x) = exp(score(x)) / Z.

    All arrays have the leading dimensions of the problem (`batch` here) and are of the caller's
    kind, float64.

    Attributes:
        log_partition: `[batch]`, log Z in nats.
        unary_marginals: `[batch, n, k]`, P(x_i = a); zero beyond `sizes`.
        pairwise_marginals: `[batch, e, k, k]`, P(x_i = a, x_j = b) of the pairs of `edges`.
        problem: what was asked.
    """

    log_partition: ArrayT
    unary_marginals: ArrayT
    pairwise_marginals: ArrayT
    problem: LabelProblem[ArrayT]
    _parts: tuple[Conditionals, ...] = field(repr=False)

    @property
    def edges(self) -> np.ndarray:
        """`[e, 2]`, i < j: the pair of each pairwise marginal."""
        return self.problem.edges

    @property
    def entropy(self) -> ArrayT:
        """`[batch]`: -E[log p], in nats."""
        xp, problem = namespace_of(self.problem.unary), self.problem
        flat = [
            xp.reshape(
                beside(problem.unary, to_numpy(part)),
                (problem.batch, *part.shape[len(problem.leading) :]),
            )
            for part in (self.unary_marginals, self.pairwise_marginals)
        ]
        mean = xp.sum(xp.reshape(flat[0] * _finite(problem.unary), (problem.batch, -1)), axis=-1)
        for edge in range(problem.e):
            i, j = problem.topology.pairs[edge]
            table = _finite(problem.pairwise(edge))
            mean = mean + xp.sum(
                flat[1][:, edge, : problem.sizes[i], : problem.sizes[j]] * table, axis=(1, 2)
            )
        log_z = xp.concat([part.log_partition for part in self._parts], axis=0)
        return problem.restore(log_z - mean)

    def sample(self, uniforms: Any) -> ArrayT:
        """Independent samples.

        A variable's value is the inverse of its cumulative probabilities, given the variables drawn
        before, at the caller's uniform number; equal numbers give equal samples.

        Args:
            uniforms: `[samples, batch, n]`, float64, in [0, 1).

        Returns:
            `[samples, batch, n]`, int64.

        Raises:
            ProblemError: the uniforms have another shape, range or precision.

        Example:
            >>> gibbs([[0.0, 0.0, 0.0]]).sample([[0.1], [0.5], [0.9]]).tolist()
            [[0], [1], [2]]
        """
        problem = self.problem
        z = drawn(self._parts, checked_uniforms(problem, uniforms, (problem.n,)))
        return problem.home.place(by_sample(problem, z))

    def completions(self, uniforms: Any, variables: Any = None) -> LabelCompletions[ArrayT]:
        """Samples, drawn variable by variable, and each of them completed with the other values of single variables.

        The samples are those that `sample` gives for the same uniforms.

        Args:
            uniforms: as for `sample`.
            variables: `[m]` or `[samples, batch, m]`, which to complete; None for all.

        Raises:
            ProblemError: the uniforms or the variables have another shape or range; or some
                variables have fewer values than others.

        Example:
            >>> pair = gibbs([[0.0, 0.0], [0.0, 0.0]], potts=9.0, edges=[[0, 1]])
            >>> found = pair.completions([[0.9, 0.9]], [1])
            >>> found.samples.tolist(), found.completed.tolist()  # the other follows, being drawn later
            ([[1, 1]], [[[[0, 0]]]])
        """
        own = checked_uniforms(self.problem, uniforms, (self.problem.n,))
        return complete(self.problem, self._parts, own, variables)

    def covariance_product(self, unary: Any, pairwise: Any = None) -> tuple[ArrayT, ArrayT]:
        """Cov(phi, phi . d) for a direction d, where phi indicates the values of variables and of pairs.

        It is the derivative of the marginals along d; the covariance is symmetric, so it also takes
        a gradient with respect to the marginals back to the scores.

        Args:
            unary: `[batch, n, k]`, the part of d for the unary scores, finite; or what broadcasts
                to it.
            pairwise: `[batch, e, k, k]`, that for the scores of pairs; None for zeros.

        Returns:
            `[batch, n, k]` and `[batch, e, k, k]`, float64.

        Raises:
            ProblemError: a part does not broadcast to its shape, is not finite, or holds numbers
                beyond 1e290, whose sums may be beyond all floats.

        Example:
            >>> fair = gibbs([[0.0, 0.0]])
            >>> fair.covariance_product([[1.0, 0.0]])[0].tolist()
            [[0.25, -0.25]]
        """
        problem, found, start = self.problem, [], 0
        direction = _direction(problem, unary, pairwise)
        for part in self._parts:
            own = direction.instances(slice(start, start + part.problem.batch))
            found.append(part.derivative(own))
            start += part.problem.batch
        return _joined(problem, found, 0), _joined(problem, found, 1)


@overload
def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    method: Literal["exact"] = "exact",
) -> LabelGibbs: ...


@overload
def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    method: Method,
) -> LabelGibbsEstimate: ...


def gibbs(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    method: Literal["exact"] | Method = "exact",
) -> LabelGibbs | LabelGibbsEstimate:
    """Log-partition, marginals and samples of p(x) = exp(score(x)) / Z, exact, by elimination; or what bounds log Z.

    Args:
        unary: as for `solve`; or a `LabelProblem` alone.
        pairwise: as for `solve`.
        edges: as for `solve`.
        sizes: as for `solve`.
        potts: as for `solve`.
        method: "exact", as far as tables fit into memory. Elsewhere, on any graph: "trw",
            tree-reweighted messages, whose `log_partition` is an upper bound; "mean_field", a
            product of distributions, and a lower bound (minus infinity where no allowed labels were
            found); or "loopy", belief propagation, an estimate that is no bound. "trw" and "loopy"
            are exact on trees.

    Returns:
        `LabelGibbs`; of the other methods a `LabelGibbsEstimate`, which says what its
        `log_partition` is and has no samples.

    Raises:
        ProblemError: the arrays do not describe a problem.
        OptionError: there is no such method.
        UnsupportedProblemError: the tables do not fit into the free memory.
        InfeasibleError: every assignment of an instance is forbidden.

    References:
        Koller and Friedman (2009), Probabilistic Graphical Models, chapters 9 and 12.

    Example:
        >>> result = gibbs([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], potts=1.0, edges=[[0, 1]])
        >>> round(float(result.log_partition), 6), result.pairwise_marginals[0].round(4).tolist()[0]
        (2.650057, [0.192, 0.0706, 0.0706])
    """
    problem = unary
    if not isinstance(problem, LabelProblem):
        problem = LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes, potts=potts)
    elif any(part is not None for part in (pairwise, edges, sizes, potts)):
        raise ProblemError("a LabelProblem has its pairs and sizes; pass it alone")
    if not isinstance(method, str) or method != "exact":
        return estimated(problem, method)
    if reason := why_not_eliminated(problem, lambda buckets: _bytes_of(problem, buckets)):
        others = "method='trw' and method='mean_field' have bounds on log Z"
        raise UnsupportedProblemError("gibbs", (f"{reason}; {others}",))
    check_room(
        "the marginals of all pairs", problem.unary, problem.batch * problem.e * problem.k**2
    )
    buckets = buckets_of(problem)
    parts = tuple(Conditionals.of(part, buckets) for part in in_parts(problem, buckets))
    if any(bool((to_numpy(part.log_partition) == -np.inf).any()) for part in parts):
        raise InfeasibleError()
    marginals = [part.marginals() for part in parts]
    log_z = namespace_of(problem.unary).concat([part.log_partition for part in parts], axis=0)
    return LabelGibbs(
        problem.restore(log_z),
        _joined(problem, marginals, 0),
        _joined(problem, marginals, 1),
        problem,
        parts,
    )


def _bytes_of(problem: LabelProblem, buckets: Buckets) -> int:
    """The conditionals of the whole batch, and some of the largest."""
    return 8 * (problem.batch * buckets.entries + 4 * buckets.largest)


def _joined(problem: LabelProblem, parts: list[tuple[Array, Array]], which: int) -> Any:
    return problem.restore(
        namespace_of(problem.unary).concat([part[which] for part in parts], axis=0)
    )


def _finite(scores: Array) -> Array:
    """Float64 scores; zero for what is forbidden, which has no probability."""
    xp = namespace_of(scores)
    values = as_float64(scores)
    return xp.where(xp.isinf(values), xp.zeros_like(values), values)


def _direction(problem: LabelProblem, unary: Any, pairwise: Any) -> LabelProblem:
    """The direction as a problem of the same pairs, whose scores it is."""
    wide = {"unary": (problem.n, problem.k), "pairwise": (problem.e, problem.k, problem.k)}
    parts = []
    for name, values in (("unary", unary), ("pairwise", 0.0 if pairwise is None else pairwise)):
        given = to_numpy(as_array(values, name))
        numbers = given.dtype.kind in "biuf"
        with np.errstate(over="ignore"):  # of more than double precision
            given = given.astype(np.float64) if numbers else given
        if not (numbers and (np.abs(given) <= LARGEST).all()):
            raise ProblemError(
                f"the {name} direction must hold finite numbers, of magnitudes up to {LARGEST:g}"
            )
        try:
            whole = np.broadcast_to(given, (*problem.leading, *wide[name]))
        except ValueError as error:
            raise ProblemError(
                f"the {name} direction must be {(*problem.leading, *wide[name])}; its shape is {given.shape}"
            ) from error
        parts.append(beside(problem.unary, whole.reshape(problem.batch, *wide[name])))
    return LabelProblem(
        parts[0],
        parts[1],
        np.arange(problem.e),
        None,
        problem.sizes,
        problem.topology,
        (problem.batch,),
        problem.home,
    )
