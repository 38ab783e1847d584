"""Real scores as integer multiples of a power of two, a batch in one pass over it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from ...compiled import jit
from ...compiled.threads import over_slices

LEAST_EXPONENT = -1074
"""Of a unit: every float is a multiple of it."""


def to_integers(
    scores: Float[np.ndarray, "batch m"], exponent: Int[np.ndarray, "batch"], threads: int | None = None
) -> tuple[Int[np.ndarray, "batch m"], Float[np.ndarray, "batch"]]:
    """The nearest integers to scores / 2^exponent, and by how much that moved those of an instance in all.

    Args:
        scores: `[batch, m]`, float32 or float64; below 2^(exponent + 62).
        exponent: `[batch]`, -1200 to 1200.
        threads: most threads to use; None for all cores.

    Example:
        >>> to_integers(np.array([[1.0, 0.75]]), np.array([-1]))
        (array([[2, 2]]), array([0.5]))
    """
    nearest, moved = np.empty(scores.shape, np.int64), np.empty(len(scores))
    # 2^-exponent may be beyond float64; in two steps it is not.
    half = -exponent // 2
    factors = np.stack([np.ldexp(1.0, half), np.ldexp(1.0, -exponent - half)], axis=1)
    scores = np.require(scores, requirements=["C", "W"])
    over_slices(
        _round_instances, scores, factors, nearest, moved, nanoseconds=2 * scores.shape[1], threads=threads
    )
    return nearest, moved


@jit.strict
def _round_instances(scores, factors, nearest, moved):
    for s in range(scores.shape[0]):
        first, second = factors[s]
        total = 0.0
        for k in range(scores.shape[1]):
            scaled = np.float64(scores[s, k]) * first * second
            rounded = np.rint(scaled)
            nearest[s, k] = np.int64(rounded)
            total += abs(scaled - rounded)
        moved[s] = total
