"""Differentiate marginals along a direction, and conditionals of samples."""

from __future__ import annotations

import numpy as np

from .free_sums import FreeSums
from .samples import Drawn


def derivative(
    free: FreeSums,
    drawn: Drawn | None,
    direction: np.ndarray | None,
    threads: int | None,
) -> np.ndarray:
    """Return the gradient `[batch, n + e]` of direction . marginals plus weighted conditionals.

    The second summand is that of changes * P(z_v = 1 | drawn before) over the samples.

    Args:
        free: sums over all states.
        drawn: samples and their changes; None for none.
        direction: `[batch, n + e]`, finite; None for zeros.
        threads: maximum number of threads; None for all cores.
    """
    # Only ratios matter to rounding and overflow.
    largest = []
    if direction is not None:
        largest.append(np.abs(direction).max(axis=1, initial=0.0))
    if drawn is not None:
        largest.append(np.abs(drawn.changes).max(axis=(1, 2), initial=0.0))
    scale = np.maximum(np.max(largest, axis=0), np.finfo(np.float64).tiny)[:, None]
    if drawn is not None:
        drawn = drawn._replace(changes=np.ascontiguousarray(drawn.changes / scale[..., None]))
    if direction is not None:
        direction = direction / scale
    gradient = free.gradient(drawn, direction, threads)
    gradient *= scale
    return gradient
