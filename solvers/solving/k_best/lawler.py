"""Find the best states one after the other, and remove each from its region (Lawler)."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from ...arrays import States

ValuesT = TypeVar("ValuesT")


@dataclass(frozen=True, eq=False)
class Region(Generic[ValuesT]):
    """Set of states, with the best known state in it.

    Attributes:
        z: `[n]`, the best known state; meaningless if no state of the region is known.
        score: its score; minus infinity if no state of the region is known.
        bound: an upper bound on the scores of the region.
        values: the values that the region allows.
    """

    z: np.ndarray
    score: float
    bound: float
    values: ValuesT


def lawler(
    whole: Region[ValuesT],
    count: int,
    others: Callable[[Region[ValuesT]], Iterable[Region[ValuesT]]],
) -> tuple[States, np.ndarray]:
    """Return states `[count, n]`, with bounds `[count]`, each on all states except earlier ones.

    If fewer states are known, the last rows hold -1. Their bound is that of the regions without
    a known state, which is minus infinity if there are no more states at all.

    Args:
        whole: the region of all states.
        count: number of states to return.
        others: returns regions that hold all states of a region except its best.

    References:
        Lawler (1972), A procedure for computing the K best solutions to discrete optimization
        problems.
    """
    regions: _Regions[ValuesT] = _Regions()
    regions.add(whole)
    states: list[np.ndarray] = []
    bounds: list[float] = []
    while len(states) < count and regions.best_score > -math.inf:
        # The bound of all open regions holds for this state and for every later one.
        bounds.append(regions.bound)
        taken = regions.take()
        states.append(taken.z)
        if len(states) == count:
            break
        for region in others(taken):
            regions.add(region)
    # No state of the remaining regions is known. If no region remains, no other state exists.
    bounds += [regions.bound] * (count - len(states))
    missing = np.full((count - len(states), len(whole.z)), -1, whole.z.dtype)
    return np.concatenate((np.reshape(states, (-1, len(whole.z))), missing)), np.array(bounds)


class _Regions(Generic[ValuesT]):
    """Open regions, with access to the region of the best state and to the highest bound."""

    def __init__(self) -> None:
        self._by_score: list[tuple[float, int, Region[ValuesT]]] = []
        self._by_bound: list[tuple[float, int]] = []
        self._taken: set[int] = set()
        self._number = 0

    def add(self, region: Region[ValuesT]) -> None:
        heapq.heappush(self._by_score, (-region.score, self._number, region))
        heapq.heappush(self._by_bound, (-region.bound, self._number))
        self._number += 1

    @property
    def best_score(self) -> float:
        """The highest known score; minus infinity if no state is known."""
        if self._by_score:
            return -self._by_score[0][0]
        return -math.inf

    @property
    def bound(self) -> float:
        """Upper bound on the scores of all regions; minus infinity without any region."""
        while self._by_bound and self._by_bound[0][1] in self._taken:
            self._taken.remove(heapq.heappop(self._by_bound)[1])
        if self._by_bound:
            return -self._by_bound[0][0]
        return -math.inf

    def take(self) -> Region[ValuesT]:
        """Remove the region of the best state, and return it."""
        _, number, region = heapq.heappop(self._by_score)
        self._taken.add(number)
        return region
