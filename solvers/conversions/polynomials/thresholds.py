"""Auxiliary bits of a problem: each says whether a weighted sum of other bits reaches a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True, eq=False)
class Threshold:
    """A bit whose best value depends on the bits before it: 1 where their sum reaches a number.

    Attributes:
        places: of the bits that are added up.
        weights: of these bits, in the same order.
        least: the sum from which on the bit is 1.
    """

    places: Sequence[int]
    weights: Sequence[int | Fraction]
    least: int | Fraction

    @classmethod
    def all_of(cls, places: Sequence[int]) -> Threshold:
        """Return the bit that is 1 where all of some bits are."""
        return cls.count(places, len(places))

    @classmethod
    def count(cls, places: Sequence[int], least: int) -> Threshold:
        """Return the bit that is 1 where at least so many of some bits are."""
        return cls(tuple(places), (1,) * len(places), least)

    def state(self, states: Sequence[int]) -> int:
        """Return the value of the bit for the states of all bits before it."""
        pairs = zip(self.places, self.weights, strict=True)
        reached = sum(weight for place, weight in pairs if states[place])
        return int(reached >= self.least)


def completed(states: Sequence[int], thresholds: Sequence[Threshold]) -> np.ndarray:
    """Return the states `[n + auxiliary]` of all bits, by those `[n]` of the first ones.

    Example:
        >>> completed([1, 1, 0], [Threshold.all_of([0, 1]), Threshold.count([0, 1, 2], 3)]).tolist()
        [1, 1, 0, 1, 0]
    """
    whole = [int(state) for state in states]
    for threshold in thresholds:
        whole.append(threshold.state(whole))
    return np.array(whole, np.int64)
