"""The one pseudo-random generator of compiled kernels: xorshift64*.

A stream's state is a word that its owner keeps, as an array `[1]` of uint64, and never zero. Every draw moves it on.

References:
    Vigna (2016), An experimental exploration of Marsaglia's xorshift generators, scrambled.
"""

from __future__ import annotations

import numpy as np

from . import jit

MULTIPLIER = np.uint64(2685821657736338717)
GOLDEN_RATIO = np.uint64(0x9E3779B97F4A7C15)


def random_states(count: int, generator: np.random.Generator) -> np.ndarray:
    """`[count]` uint64: the states of as many streams.

    Args:
        count: number of streams.
        generator: what they are drawn from.
    """
    return generator.integers(1, 2**63, count, dtype=np.uint64)


@jit.strict
def seeded(seed: int) -> np.ndarray:
    """`[1]` uint64: the state of the stream of a seed below 2^32; those of neighbouring seeds are far apart."""
    return np.full(1, np.uint64(seed) * GOLDEN_RATIO + np.uint64(1))


@jit.strict
def random_bits(state: np.ndarray) -> np.int64:
    """60 random bits."""
    x = state[0]
    x ^= x >> np.uint64(12)
    x ^= x << np.uint64(25)
    x ^= x >> np.uint64(27)
    state[0] = x
    return np.int64((x * MULTIPLIER) >> np.uint64(4))


@jit.strict
def below(limit: int, bits: int) -> int:
    """A number in 0 .. limit - 1 from the lowest 20 of some random bits, so that a draw is enough for three.

    Limits far below 2^20 come out even; above, some numbers never come.
    """
    return ((bits & 0xFFFFF) * limit) >> 20


@jit.strict
def uniform(state: np.ndarray) -> float:
    """A number in [0, 1), a multiple of 2^-53."""
    return np.float64(random_bits(state) >> 7) * 2.0**-53
