"""Random choices, by the seed and the number of a call alone: any call can be made again by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Draw:
    """The choices of one call.

    Args:
        seed: of all calls.
        number: of this one.
    """

    def __init__(self, seed: int, number: int):
        self.random = np.random.default_rng((seed, number))

    def chance(self, share: float) -> bool:
        """True with this probability."""
        return bool(self.random.random() < share)

    def of(self, options: Sequence[T]) -> T:
        """One of them."""
        return options[int(self.random.integers(len(options)))]

    def whole(self, low: int, high: int) -> int:
        """One of low..high."""
        return int(self.random.integers(low, high + 1))
