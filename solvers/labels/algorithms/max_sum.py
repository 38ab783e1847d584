"""Find the best assignment of every instance of a batch, by elimination."""

from __future__ import annotations

import numpy as np

from ...arrays import Array, States, beside, namespace_of
from ..problem import LabelProblem
from .buckets import Buckets, joined


def max_sum(problem: LabelProblem, buckets: Buckets) -> States:
    """Return an assignment `[batch, n]` of highest score for each instance."""
    xp = namespace_of(problem.unary)
    messages: dict[int, Array] = {}
    best: list[Array] = []
    for t, step in enumerate(buckets.steps):
        scores = joined(problem, buckets, step, messages)
        messages[t] = xp.max(scores, axis=1)
        best.append(_narrow(xp, xp.argmax(scores, axis=1), scores.shape[1]))
    return _traced_back(problem, buckets, best)


def _narrow(xp: object, values: Array, count: int) -> Array:
    """Return values below `count` in the smallest integer type."""
    kind = "int64"
    if count <= 1 << 7:
        kind = "int8"
    elif count <= 1 << 15:
        kind = "int16"
    return namespace_of(values).astype(values, getattr(xp, kind))


def _traced_back(problem: LabelProblem, buckets: Buckets, best: list[Array]) -> States:
    """Return the choice of each variable, given the variables that are eliminated after it."""
    xp = namespace_of(problem.unary)
    rows = beside(problem.unary, np.arange(problem.batch))
    chosen: dict[int, Array] = {}
    for step, choices in zip(reversed(buckets.steps), reversed(best), strict=True):
        place = rows
        for u, length in zip(step.separator, choices.shape[1:], strict=True):
            # The place in the row-major flattened choices.
            place = place * length + chosen[u]
        flat = xp.take(xp.reshape(choices, (-1,)), place, axis=0)
        chosen[step.variable] = xp.astype(flat, xp.int64)
    return xp.stack([chosen[v] for v in range(problem.n)], axis=-1)
