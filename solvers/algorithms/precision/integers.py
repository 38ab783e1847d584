"""Round real scores to integer multiples of a power of two, a batch in one pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...compiled._kernels import precision as kernels
from ...compiled.plain import plain
from ...compiled.threads import over_slices

if TYPE_CHECKING:
    from jaxtyping import Float, Int

LEAST_EXPONENT = -1074
"""Least exponent of a unit: every float is a multiple of 2^-1074."""


def to_integers(
    scores: Float[np.ndarray, "batch m"],
    exponent: Int[np.ndarray, "batch"],
    threads: int | None = None,
) -> tuple[Int[np.ndarray, "batch m"], Float[np.ndarray, "batch"]]:
    """Return the nearest integers to scores / 2^exponent, and the total change per instance.

    Args:
        scores: `[batch, m]`, float32 or float64; below 2^(exponent + 62).
        exponent: `[batch]`, -1200 to 1200.
        threads: maximum number of threads; None for all cores.

    Example:
        >>> to_integers(np.array([[1.0, 0.75]]), np.array([-1]))
        (array([[2, 2]]), array([0.5]))
    """
    nearest = np.empty(scores.shape, np.int64)
    moved = np.empty(len(scores))
    over_slices(
        kernels.round_instances,
        plain(scores),
        exponent.astype(np.int32, copy=False),
        nearest,
        moved,
        nanoseconds=2 * scores.shape[1],
        threads=threads,
    )
    return nearest, moved
