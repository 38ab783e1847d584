"""Improve labels by tabu search, which changes one label at a time.

The search escapes from labels that neither single changes nor cuts improve.

A forbidden value, or pair of values, has a score so low that few other scores compensate it. So a
search may pass through forbidden labels, and find allowed labels from a forbidden start.

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
"""Steps of a search per variable, within the limit `LOOKS`."""

LOOKS = 1 << 28
"""Maximum number of changes that a search evaluates, in some tenths of a second.

If this allows fewer steps than a problem has variables, the search is skipped.
"""

NANOSECONDS = 1.0
"""Nanoseconds to evaluate a change."""


def tabu_until(scores: WholeScores, labels: np.ndarray, deadline: Deadline) -> np.ndarray:
    """Return the best labels `[n]` on a walk that starts at given labels.

    Args:
        scores: the scores of the instance.
        labels: `[n]`, the first labels, which may be forbidden.
        deadline: time at which the walk ends.
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
