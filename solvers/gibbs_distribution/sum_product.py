"""Log-partition function, marginals and samples of p(z) ~ exp(score(z)) at small treewidth, by sum-product.

The schedule is that of the maximisers, with log-sum-exp for the maximum; the tables of all steps
are kept: 24 bytes an entry. Backwards, the probability of every separator state flows from a step
to those that it read from; a sample has one state of each separator.

Instances of a batch go side by side, in lanes: an entry of a table is a row of as many numbers, so
that what is done to find the entry is done once, and the numbers fill vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from ..algorithms.elimination.plan import Plan
from ..arrays import Pairwise, Scores, States, Unary
from ..compiled._kernels import gibbs_distribution as kernels
from ..compiled.threads import MEMORY, over_slices, threads_in_memory, workers_of

ENTRY_NANOSECONDS, ENTRY_NANOSECONDS_IN_LANES, DRAW_NANOSECONDS = 20.0, 4.0, 5.0
BYTES = 24  # an entry
CACHE = 1 << 20
"""Bytes of tables that are near a core: where those of 16 instances are more, 8 side by side are faster."""


def over_lanes(
    kernel: Callable[..., None],
    plan: Plan,
    arrays: Sequence[np.ndarray],
    threads: int | None,
    *,
    passes: int = 1,
    draws: int = 0,
    bytes_an_entry: int = BYTES,
) -> None:
    """Calls a kernel for slices of the batch, in each of which instances go side by side as memory has room for.

    Args:
        kernel: takes the plan's schedule, how many instances go side by side, and the arrays.
        plan: of the edges.
        arrays: `[batch, ...]` each.
        threads: most threads to use; None for all cores.
        passes: over all entries, of an instance.
        draws: of variables, of an instance.
        bytes_an_entry: of all tables that the kernel makes.
    """
    batch, instance_bytes = len(arrays[0]), bytes_an_entry * plan.entries
    in_lanes = passes * plan.entries * ENTRY_NANOSECONDS_IN_LANES + draws * DRAW_NANOSECONDS
    lanes = lanes_of(math.ceil(batch / workers_of(batch, in_lanes, threads)), instance_bytes)
    alone = passes * plan.entries * ENTRY_NANOSECONDS + draws * DRAW_NANOSECONDS
    over_slices(
        partial(kernel, plan.schedule, lanes),
        *arrays,
        nanoseconds=alone if lanes == 1 else in_lanes,
        threads=threads_in_memory(threads, instance_bytes * lanes),
        together=lanes,
    )


def lanes_of(share: int, instance_bytes: int) -> int:
    """How many instances of a thread's share of a batch go side by side: as vectors, cache and memory have room for."""
    wanted = 1 if share == 1 else 8 if share <= 8 or 16 * instance_bytes > CACHE else 16
    return next(
        (lanes for lanes in (16, 8) if lanes <= wanted and lanes * instance_bytes <= MEMORY), 1
    )


def infer(
    plan: Plan, unary: Unary, pairwise: Pairwise, uniforms: np.ndarray, threads: int | None = None
) -> tuple[Scores, np.ndarray, States]:
    """The log-partition `[batch]`, the marginals `[batch, n + e]` and samples `[batch, samples, n]`.

    The marginals are P(z_i = 1) and P(z_i = z_j = 1), the gradient of the log-partition.

    Args:
        plan: of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        uniforms: `[batch, samples, n]` in [0, 1), one a variable.
        threads: most threads to use; None for all cores.
    """
    unary, pairwise, uniforms = (
        np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise, uniforms)
    )
    log_z, ones, pairs = (
        np.empty(len(unary)),
        np.empty((len(unary), plan.n)),
        np.empty((len(unary), plan.edges)),
    )
    z = np.empty(uniforms.shape, np.int8)
    arrays = (unary, pairwise, uniforms, log_z, ones, pairs, z)
    over_lanes(kernels.sum_product, plan, arrays, threads, draws=uniforms[0].size)
    return log_z, np.minimum(np.concatenate((ones, pairs), axis=1), 1.0), z
