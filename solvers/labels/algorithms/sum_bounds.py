"""Bound or estimate log Z and the marginals of an instance, by passes over its edges.

Each function takes a host problem of one instance, and raises an InfeasibleError if it finds that
all assignments are forbidden.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from ...compiled._kernels import labels as kernels
from ...errors import InfeasibleError
from ...limits.deadline import Deadline
from ...limits.interrupts import in_threads
from ..problem import LabelProblem
from .dual_ascent.search import LabelSearch
from .tree_messages import Tree
from .whole_scores import WholeScores

PASSES = 300
"""Maximum number of passes forwards and backwards."""

SHORT_ENTRIES = 1 << 14
"""Number of entries of tables up to which all passes together take a tenth of a second."""

CLOSE = 1e-7
"""Largest change of log messages or probabilities at which the passes end."""

DAMPING = 0.5
"""Damping factor of messages that oscillate."""

SWINGING = 20
"""Number of passes before messages are damped.

Messages that converge without damping have nearly converged by then.
"""

VISITS = 1 << 28
"""Nodes times message entries in the search for allowed labels, which takes some seconds."""


class Sums(NamedTuple):
    """Sums or estimates of one instance.

    Attributes:
        log_partition: log Z in nats.
        of_variables: `[n, k]`, probabilities.
        of_pairs: `[e, k, k]`, probabilities.
        converged: whether passes ended because nothing changed.
    """

    log_partition: float
    of_variables: np.ndarray
    of_pairs: np.ndarray
    converged: bool


def tree_reweighted(problem: LabelProblem) -> Sums:
    """Return the lowest upper bound of all passes, with the marginals of the last pass."""
    tree = Tree.of(problem)
    weights = tree.forest_weights()
    return _hearing_signals(problem, partial(_by_messages, problem, tree, weights, True))


def loopy(problem: LabelProblem) -> Sums:
    """Return the Bethe estimate at the messages of belief propagation, with their marginals."""
    tree = Tree.of(problem)
    weights = np.ones(problem.e)
    return _hearing_signals(problem, partial(_by_messages, problem, tree, weights, False))


def _hearing_signals(problem: LabelProblem, sums: Callable[[np.ndarray], Sums]) -> Sums:
    """Return sums, from a thread if a pass takes long: this thread hears signals meanwhile.

    Args:
        problem: of the sums.
        sums: takes a stop flag `[1]`, uint8, for its kernels, and ends soon where it is set.
    """
    stop = np.zeros(1, np.uint8)
    if problem.e * problem.k**2 <= SHORT_ENTRIES:
        return sums(stop)
    try:
        (result,) = in_threads([partial(sums, stop)], 1)
    finally:
        # After an exception such as Ctrl-C, the thread still runs a kernel.
        stop.fill(1)
    return result


def _by_messages(
    problem: LabelProblem, tree: Tree, weights: np.ndarray, bounded: bool, stop: np.ndarray
) -> Sums:
    # messages do not detect everything that pairs on a cycle forbid
    if np.isinf(problem.tables).any():
        _allowed_labels(problem)
    unary = np.array(problem.unary[0], np.float64, order="C")
    message = np.zeros((problem.e, 2, problem.k))
    least = np.inf
    moved = np.inf
    for number in range(PASSES):
        if stop[0]:
            break
        # Forward messages are never damped if the pass gives a bound, which is only valid for
        # undamped messages.
        damping = 0.0
        if number >= SWINGING:
            damping = DAMPING
        ahead = damping
        if bounded:
            ahead = 0.0
        bound, there = kernels.pass_on(tree.kernel, unary, weights, message, True, ahead, stop)
        if bound == -np.inf:
            raise InfeasibleError()
        _, back = kernels.pass_on(tree.kernel, unary, weights, message, False, damping, stop)
        least = min(least, bound)
        moved = max(there, back)
        if moved <= CLOSE:
            break
    of_variables = np.zeros((problem.n, problem.k))
    of_pairs = np.zeros((problem.e, problem.k, problem.k))
    arrays = (unary, weights, message, of_variables, of_pairs)
    estimate = kernels.beliefs(tree.kernel, *arrays, stop)
    log_partition = estimate
    if bounded:
        log_partition = least
    return Sums(log_partition, of_variables, of_pairs, moved <= CLOSE)


def _allowed_labels(problem: LabelProblem) -> np.ndarray:
    """Return labels `[n]` with a finite score if the search finds any.

    If the search ends too early, the labels are forbidden ones.

    Raises:
        InfeasibleError: every assignment is forbidden.
    """
    search = LabelSearch(WholeScores.of(problem))
    search.run(Deadline.after(None), 1)
    if problem.score_flat(search.labels[None])[0] == -np.inf:
        search.run(Deadline.after(None), VISITS)
    if search.bound == -np.inf:
        raise InfeasibleError()
    return np.asarray(search.labels)


def mean_field(problem: LabelProblem) -> Sums:
    """Return the lower bound of a product of distributions, which starts at allowed labels."""
    return _hearing_signals(problem, partial(_mean_field, problem))


def _mean_field(problem: LabelProblem, stop: np.ndarray) -> Sums:
    tree = Tree.of(problem).kernel
    unary = np.array(problem.unary[0], np.float64, order="C")
    # The start is one allowed assignment, since mass on a forbidden one makes the bound -inf.
    labels = _allowed_labels(problem)
    q = (np.arange(problem.k) == labels[:, None]).astype(np.float64)
    moved = np.inf
    is_allowed = problem.score_flat(labels[None])[0] > -np.inf
    passes = 0
    if is_allowed:
        passes = PASSES
    for _ in range(passes):
        if stop[0]:
            break
        moved = kernels.raise_bound(tree, unary, q, stop)
        if moved <= CLOSE:
            break
    i, j = problem.topology.pairs.T
    bound = -np.inf
    if is_allowed:
        bound = kernels.mean_and_entropy(tree, unary, q)
    return Sums(bound, q, q[i][:, :, None] * q[j][:, None, :], moved <= CLOSE)
