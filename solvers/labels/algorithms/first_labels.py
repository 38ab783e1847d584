"""Compute a bound and good labels before a long search.

The bound comes from messages. Moves by minimum cuts and a tabu search improve the labels.
"""

from __future__ import annotations

import numpy as np

from ...limits.deadline import Deadline
from .dual_ascent.search import LabelSearch
from .fusion import fused_until
from .tabu import tabu_until
from .whole_scores import WholeScores

BOUND_SHARE = 0.5
"""Maximum share of the time for messages."""


def begun(scores: WholeScores, deadline: Deadline, labels: np.ndarray | None = None) -> LabelSearch:
    """Return a search that has bounded its root.

    If the root does not end the search, minimum cuts and a tabu search offer it their labels.

    Args:
        scores: the scores of the instance.
        deadline: time at which all searches stop.
        labels: `[n]`, initial labels; None for none.
    """
    search = LabelSearch(scores, labels)
    search.run(deadline.within(BOUND_SHARE * deadline.left), 1)
    if not search.finished:
        search.offer(fused_until(scores, search.labels, deadline))
        search.offer(tabu_until(scores, search.labels, deadline))
    return search
