"""What is known of p(x) = exp(score(x)) / Z where its sums are out of reach: bounds on log Z, and marginals near it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, Literal, NamedTuple, TypeAlias, get_args

import numpy as np

from ..arrays import ArrayT, check_room
from ..errors import InfeasibleError, OptionError, shortened
from ..limits.deadline import Deadline
from .algorithms.dual_ascent.search import LabelSearch
from .algorithms.mean_field import mean_and_entropy, raise_bound
from .algorithms.tree_messages import Tree, beliefs, pass_on
from .algorithms.whole_scores import WholeScores
from .problem import LabelProblem

Bound: TypeAlias = Literal["upper", "lower"]
Method: TypeAlias = Literal["trw", "mean_field", "loopy"]

METHODS: Final[tuple[Method, ...]] = get_args(Method)

PASSES = 300
"""There and back, at most."""

CLOSE = 1e-7
"""A change of log messages, or of probabilities, that ends the passes."""

DAMPING = 0.5
"""Of messages that go on to swing."""

SWINGING = 20
"""Passes after which messages are damped: those that settle by themselves are near their end by then."""

VISITS = 1 << 28
"""Of the search for allowed labels, nodes times entries of messages: some seconds."""


@dataclass(frozen=True, eq=False)
class LabelGibbsEstimate(Generic[ArrayT]):
    """What `gibbs` finds of p(x) = exp(score(x)) / Z by a method that takes no sums over all assignments.

    Marginals are near those of p, without a promise. All arrays have the leading dimensions of the problem (`batch`
    here) and are of the caller's kind, float64.

    Attributes:
        log_partition: `[batch]`, in nats: a bound on log Z, or an estimate, as `bound` says.
        bound: "upper" or "lower": on which side of log Z `log_partition` is, up to the rounding of float64 sums; None
            where it is no bound.
        unary_marginals: `[batch, n, k]`, near P(x_i = a); zero beyond `sizes`.
        pairwise_marginals: `[batch, e, k, k]`, near P(x_i = a, x_j = b) of the pairs of `edges`.
        converged: `[batch]`, bool, whether passes ended because nothing changed; a bound is one in any case.
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


class _Found(NamedTuple):
    """Of one instance."""

    log_partition: float
    of_variables: np.ndarray
    of_pairs: np.ndarray
    converged: bool


def estimated(problem: LabelProblem, method: Any) -> LabelGibbsEstimate:
    """What one of `METHODS` finds.

    Raises:
        OptionError: `method` is none of them.
        InfeasibleError: every assignment of an instance is forbidden.
        ProblemTooLargeError: memory does not hold the marginals of all pairs.
    """
    if not isinstance(method, str) or method not in _WAYS:
        raise OptionError(f"method must be 'exact' or one of {', '.join(_WAYS)}; got {shortened(method)}")
    check_room("the marginals of all pairs", problem.unary, problem.batch * problem.e * problem.k**2)
    way, bound = _WAYS[method]
    host = problem.to_host()
    found = [way(host.instances(slice(b, b + 1))) for b in range(host.batch)]
    log_z, of_variables, of_pairs, converged = (np.stack(part) for part in zip(*found, strict=True))
    arrays = (problem.restore(part) for part in (of_variables, of_pairs, converged))
    return LabelGibbsEstimate(problem.restore(log_z), bound, *arrays, problem)


def _tree_reweighted(problem: LabelProblem) -> _Found:
    """The least bound of all passes, with the marginals of the last."""
    tree = Tree.of(problem)
    return _by_messages(problem, tree, tree.forest_weights(), bounded=True)


def _loopy(problem: LabelProblem) -> _Found:
    return _by_messages(problem, Tree.of(problem), np.ones(problem.e), bounded=False)


def _by_messages(problem: LabelProblem, tree: Tree, weights: np.ndarray, bounded: bool) -> _Found:
    unary, scratch = problem.unary[0].astype(np.float64), np.empty((2, problem.k))
    message = np.zeros((problem.e, 2, problem.k))
    least, moved = np.inf, np.inf
    for number in range(PASSES):
        # Forwards messages are never damped where the pass gives a bound, which is one for undamped messages alone.
        damping = DAMPING if number >= SWINGING else 0.0
        bound, there = pass_on(tree, unary, weights, message, True, 0.0 if bounded else damping, scratch)
        if bound == -np.inf:
            raise InfeasibleError(("scores of minus infinity",))
        back = pass_on(tree, unary, weights, message, False, damping, scratch)[1]
        least, moved = min(least, bound), max(there, back)
        if moved <= CLOSE:
            break
    of_variables, of_pairs = np.zeros((problem.n, problem.k)), np.zeros((problem.e, problem.k, problem.k))
    estimate = beliefs(tree, unary, weights, message, of_variables, of_pairs, scratch)
    return _Found(least if bounded else estimate, of_variables, of_pairs, moved <= CLOSE)


def _mean_field(problem: LabelProblem) -> _Found:
    """From allowed labels, which alone have a probability at first."""
    tree, unary = Tree.of(problem), problem.unary[0].astype(np.float64)
    search = LabelSearch(WholeScores.of(problem))
    search.run(Deadline.after(None), 1)
    if problem.score_flat(search.labels[None])[0] == -np.inf:
        search.run(Deadline.after(None), VISITS)
    if search.bound == -np.inf:
        raise InfeasibleError(("scores of minus infinity",))
    q = (np.arange(problem.k) == search.labels[:, None]).astype(np.float64)
    moved, scratch = np.inf, np.empty(problem.k)
    allowed = problem.score_flat(search.labels[None])[0] > -np.inf
    for _ in range(PASSES if allowed else 0):
        moved = raise_bound(tree, unary, q, scratch)
        if moved <= CLOSE:
            break
    i, j = problem.topology.pairs.T
    bound = mean_and_entropy(tree, unary, q) if allowed else -np.inf
    return _Found(bound, q, q[i][:, :, None] * q[j][:, None, :], moved <= CLOSE)


_WAYS: Final[dict[str, tuple[Callable[[LabelProblem], _Found], Bound | None]]] = {
    "trw": (_tree_reweighted, "upper"),
    "mean_field": (_mean_field, "lower"),
    "loopy": (_loopy, None),
}
