"""Auxiliary bits that say whether a weighted sum of other bits reaches a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np


@dataclass(frozen=True, eq=False)
class Threshold:
    """Bit whose best value is 1 if a weighted sum of bits before it reaches a number.

    Attributes:
        places: the places of the bits in the sum.
        weights: the weights of these bits, in the same order.
        least: the least sum at which the bit is 1.
    """

    places: Sequence[int]
    weights: Sequence[int | Fraction]
    least: int | Fraction

    @classmethod
    def all_of(cls, places: Sequence[int]) -> Threshold:
        """Return the bit that is 1 if all given bits are 1."""
        return cls.count(places, len(places))

    @classmethod
    def count(cls, places: Sequence[int], least: int) -> Threshold:
        """Return the bit that is 1 if at least `least` of the given bits are 1."""
        return cls(tuple(places), (1,) * len(places), least)

    def state(self, states: Sequence[int]) -> int:
        """Return the value of the bit for the states of all bits before it."""
        pairs = zip(self.places, self.weights, strict=True)
        reached = sum(weight for place, weight in pairs if states[place])
        return int(reached >= self.least)


def completed(states: Sequence[int], thresholds: Sequence[Threshold]) -> np.ndarray:
    """Return the states `[n + auxiliary]` of all bits, from the states `[n]` of the first n.

    Example:
        >>> completed([1, 1, 0], [Threshold.all_of([0, 1]), Threshold.count([0, 1, 2], 3)]).tolist()
        [1, 1, 0, 1, 0]
    """
    whole = [int(state) for state in states]
    for threshold in thresholds:
        whole.append(threshold.state(whole))
    return np.array(whole, np.int64)
