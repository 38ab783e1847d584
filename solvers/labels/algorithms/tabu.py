"""Improve labels by tabu search, which changes one label at a time.

The search escapes from labels that neither single changes nor cuts improve.

A forbidden value, or pair of values, counts as a score so low that few others make it good, so that
a search may pass through forbidden labels, and find allowed ones where it began with others.

References:
    Glover (1989), Tabu search, part I.
    Lourenço, Martin, Stützle (2003), Iterated local search.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import labels as kernels
from ...compiled.plain import plain
from ...limits.deadline import Deadline
from .dual_ascent.graph import graph_of
from .whole_scores import WholeScores

STEPS_A_VARIABLE = 100
"""Of a search, where they are not too many."""

LOOKS = 1 << 28
"""Maximum number of changes that a search looks at, some tenths of a second.

If this allows fewer steps than a problem has variables, the search is skipped.
"""

NANOSECONDS = 1.0
"""Of a look."""


def tabu_until(scores: WholeScores, labels: np.ndarray, deadline: Deadline) -> np.ndarray:
    """`[n]`: the best labels met on a walk from others, which may be these.

    Args:
        scores: of the instance.
        labels: `[n]`, allowed or not.
        deadline: when to end.
    """
    n, k = scores.unary.shape
    steps = min(STEPS_A_VARIABLE * n, LOOKS // (n * k))
    # A walk that cannot flip every variable once is not worth its start.
    if steps < n:
        return labels
    # the sum of all scores stays within 64 bits
    low = -((1 << 61) // (n + len(scores.tables.pairs)))
    walked, best = (np.array(labels, np.int64) for _ in range(2))
    sizes = np.ascontiguousarray(scores.sizes, np.int64)
    with deadline.flag(1e-9 * NANOSECONDS * steps * n * k) as stop:
        kernels.tabu_walk(
            graph_of(scores), plain(scores.unary), sizes, walked, best, low, steps, 0, stop
        )
    return best
