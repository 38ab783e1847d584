"""Seed streams of the kernels' pseudo-random generator, xorshift64* (random.hpp)."""

from __future__ import annotations

import numpy as np


def random_states(count: int, generator: np.random.Generator) -> np.ndarray:
    """Return the states of streams, `[count]` uint64, never zero.

    Args:
        count: number of streams.
        generator: generator to draw them from.
    """
    return generator.integers(1, 2**63, count, dtype=np.uint64)
