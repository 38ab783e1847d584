"""The best states one after the other, each taken out of the region that it is the best of."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

import numpy as np

from ..arrays import States


class Region(Protocol):
    """Some of the states, and the best that is known of them."""

    @property
    def z(self) -> np.ndarray:
        """`[n]`, the state."""

    @property
    def score(self) -> float:
        """Of the state."""

    @property
    def bound(self) -> float:
        """On the scores of the region."""


RegionT = TypeVar("RegionT", bound=Region)


def lawler(
    whole: RegionT, count: int, others: Callable[[RegionT], Iterable[RegionT]]
) -> tuple[States, np.ndarray]:
    """Up to `count` states `[found, n]`, and bounds `[found]` on all but those before each.

    Args:
        whole: all states.
        count: how many are wanted.
        others: regions that hold all states of a region but its best.

    References:
        Lawler (1972), A procedure for computing the K best solutions to discrete optimization problems.
    """
    heap, number = [(-whole.score, 0, whole)], 1
    states: list[np.ndarray] = []
    bounds: list[float] = []
    while heap and len(states) < count:
        bounds.append(max(region.bound for *_, region in heap))
        taken = heapq.heappop(heap)[2]
        states.append(taken.z)
        for region in others(taken) if len(states) < count else ():
            heapq.heappush(heap, (-region.score, number, region))
            number += 1
    return np.stack(states), np.array(bounds)
