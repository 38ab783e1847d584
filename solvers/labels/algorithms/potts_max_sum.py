"""Find the best assignment on a forest whose pairs score only equal values.

The time is linear in the number of values.
"""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ..problem import LabelProblem
from .buckets import Buckets


def potts_max_sum(problem: LabelProblem, buckets: Buckets) -> States:
    """Return an assignment `[batch, n]` of highest score for each instance.

    Args:
        problem: a problem on the host, with scores of equal values (`is_potts`).
        buckets: the elimination of the problem, in which no separator has two variables.
    """
    sums = np.array(problem.unary, np.float64)
    weights = np.broadcast_to(np.asarray(problem.weights, np.float64), (problem.batch, problem.e))
    rows = np.arange(problem.batch)
    labels = np.zeros((problem.batch, problem.n), np.int64)
    for step in buckets.steps:
        # In the order of elimination all messages to a variable arrive before its own leaves.
        if step.separator:
            edge = step.edges[0][0]
            sums[:, step.separator[0]] += _message(sums[:, step.variable], weights[:, edge])
    # In the reverse order the label of the separator is known.
    for step in reversed(buckets.steps):
        scores = sums[:, step.variable]
        if step.separator:
            # The scores are a view, and this row is not read again.
            scores[rows, labels[:, step.separator[0]]] += weights[:, step.edges[0][0]]
        labels[:, step.variable] = scores.argmax(axis=1)
    return labels


def _message(scores: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return `[batch, k]`: the maximum over y of scores[y] + weight [x = y], for each x.

    It is scores[x] + weight, or the best score of another value. That is the best score, or for the
    best value itself the second-best score.
    """
    rows = np.arange(len(scores))
    best = scores.argmax(axis=1)
    others = np.broadcast_to(scores[rows, best][:, None], scores.shape).copy()
    without = scores.copy()
    without[rows, best] = -np.inf
    others[rows, best] = without.max(axis=1)
    message: np.ndarray = np.maximum(scores + weight[:, None], others)
    return message
