"""Find a batch of minimum cuts over integers, with any kernel that cuts instance by instance."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import States
from ...compiled.plain import plain
from ...compiled.threads import over_slices

if TYPE_CHECKING:
    from jaxtyping import Int


def cut_batch(
    kernel: Callable[..., object],
    unary: Int[np.ndarray, "batch n"],
    pairwise: Int[np.ndarray, "batch e"],
    nanoseconds: float,
    threads: int | None,
) -> tuple[States, Int[np.ndarray, "batch"]]:
    """Return the maximisers `[batch, n]` and twice the maxima `[batch]`, certified by the flow.

    Args:
        kernel: takes slices of unary and pairwise scores and fills slices of both results.
        unary: `[batch, n]`, int64.
        pairwise: `[batch, e]`, int64, >= 0; four times the absolute scores of an instance fit
            int64.
        nanoseconds: estimated work of an instance.
        threads: maximum number of threads; None for all cores.
    """
    batch, n = unary.shape
    z = np.empty((batch, n), np.int8)
    doubled = np.empty(batch, np.int64)
    over_slices(
        kernel, plain(unary), plain(pairwise), z, doubled, nanoseconds=nanoseconds, threads=threads
    )
    return z, doubled
