"""Build models for third-party solvers pair by pair, and stop if the time is too short."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import numpy as np

from ...arrays import Edges
from ...errors import SolverError
from ...limits.deadline import Deadline, now

BUILDING_SHARE = 0.5
"""Maximum share of the remaining time for building a model.

With less than half of it left, the search is not worthwhile."""

LEAST_NANOSECONDS = 1500
"""Minimum time per pair, in nanoseconds, on any machine.

If that is already too long, no model is started."""

PAIRS_A_LOOK = 1024
"""Pairs between two checks of the time; the first ones show how long the others will take."""


Terms: TypeAlias = tuple[list[tuple[int, int]], int, int]
"""A constraint as ([(variable, coefficient)], low, high)."""


class NoTimeToBuildError(SolverError):
    """The time does not suffice to build a model; the backend answers with the state at hand."""


def time_to_build(weights: np.ndarray, deadline: Deadline) -> bool:
    """Return whether a fast machine could build a model of pairs with these weights in time."""
    seconds = 1e-9 * LEAST_NANOSECONDS * int(np.count_nonzero(weights))
    return seconds <= BUILDING_SHARE * deadline.left


def pairs_in_time(
    edges: Edges, weights: np.ndarray, deadline: Deadline
) -> Iterator[tuple[int, int, float]]:
    """Yield the pairs (i, j, weight) with a nonzero weight, for a loop that builds a model.

    Args:
        edges: `[e, 2]`.
        weights: `[e]`.
        deadline: the deadline of the search.

    Raises:
        NoTimeToBuildError: at the pace so far, all pairs would take more than half of the remaining
            time; or an interrupt or a callback has ended the search.
    """
    if not time_to_build(weights, deadline):
        raise NoTimeToBuildError
    begin = now()
    share = BUILDING_SHARE * deadline.left
    used = np.flatnonzero(weights)
    for start in range(0, len(used), PAIRS_A_LOOK):
        # At this pace, building all pairs would take more than its share of the time.
        slow = (now() - begin) * len(used) > share * start
        if deadline.interrupted or (start and slow):
            raise NoTimeToBuildError
        chunk = used[start : start + PAIRS_A_LOOK]
        yield from zip(*edges[chunk].T.tolist(), weights[chunk].tolist(), strict=True)


def rows_in_time(rows: Iterable[Terms], deadline: Deadline) -> Iterator[Terms]:
    """Yield constraints, for a loop that adds them to a model.

    Raises:
        NoTimeToBuildError: the deadline has passed.
    """
    for row in rows:
        if deadline.passed:
            raise NoTimeToBuildError
        yield row
