"""Models of other people's solvers, which are built whole or not at all: pair by pair, as long as time allows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...arrays import Edges
from ...errors import SolverError
from ...limits.deadline import Deadline, now

BUILDING_SHARE = 0.5
"""Of the time that is left, at most, for building a model: less than half for the search is not worth it."""

LEAST_NANOSECONDS = 1500
"""Of a pair, at least, on any machine: where that is too long already, no model is begun."""

PAIRS_A_LOOK = 1024
"""Between two looks at the clock; the first ones tell how long the others will take."""


class NoTimeToBuildError(SolverError):
    """A model would not be ready in time; the backend answers with what it has."""


def time_to_build(weights: np.ndarray, deadline: Deadline) -> bool:
    """Whether a fast machine could build a model of pairs with these weights in time: not worth beginning if not."""
    seconds = 1e-9 * LEAST_NANOSECONDS * int(np.count_nonzero(weights))
    return seconds <= BUILDING_SHARE * deadline.left


def pairs_in_time(
    edges: Edges, weights: np.ndarray, deadline: Deadline
) -> Iterator[tuple[int, int, float]]:
    """The pairs (i, j, weight) whose weight is not zero, for a loop that builds a model of them.

    Args:
        edges: `[e, 2]`.
        weights: `[e]`.
        deadline: of the search.

    Raises:
        NoTimeToBuildError: from the pairs so far, all of them would take more than half of the time
            that is left; or an interrupt or a callback has ended the search.
    """
    if not time_to_build(weights, deadline):
        raise NoTimeToBuildError
    begin, share = now(), BUILDING_SHARE * deadline.left
    used = np.flatnonzero(weights)
    for start in range(0, len(used), PAIRS_A_LOOK):
        slow = (now() - begin) * len(used) > share * start
        if deadline.interrupted or (start and slow):
            raise NoTimeToBuildError
        part = used[start : start + PAIRS_A_LOOK]
        yield from zip(*edges[part].T.tolist(), weights[part].tolist(), strict=True)
