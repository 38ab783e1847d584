"""Compute log Z, marginals and samples of p(z) ~ exp(score(z)) at small treewidth by sum-product.

The schedule is that of max-product elimination, with log-sum-exp in place of the maximum. The
tables of all steps are kept, at 24 bytes per entry. In the backward pass, the probability of every
separator state flows from a step to those that it read from. A sample has one state of each
separator.

Instances of a batch go side by side, in lanes: an entry of a table is a row with one number per
instance. So the kernel finds an entry once for all instances, and the numbers fill vectors.
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
from ..limits.limited_sums import stop_of_sums

ENTRY_NANOSECONDS = 20.0
ENTRY_NANOSECONDS_IN_LANES = 4.0
DRAW_NANOSECONDS = 5.0
BYTES = 24  # per entry
CACHE = 1 << 20
"""Bytes of tables that stay in a core's cache.

If the tables of 16 instances need more, 8 instances side by side are faster.
"""


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
    """Call a kernel for slices of the batch, each with several instances side by side.

    The number of instances side by side is limited by the memory.

    Args:
        kernel: takes the plan's schedule, the number of instances side by side, a stop flag and the
            arrays.
        plan: the plan of the edges.
        arrays: `[batch, ...]` each.
        threads: maximum number of threads; None for all cores.
        passes: number of passes over all entries of an instance.
        draws: number of draws of variables of an instance.
        bytes_an_entry: bytes per entry of all tables that the kernel makes.
    """
    batch = len(arrays[0])
    instance_bytes = bytes_an_entry * plan.entries
    in_lanes = passes * plan.entries * ENTRY_NANOSECONDS_IN_LANES + draws * DRAW_NANOSECONDS
    # As many lanes as the share of a thread fills, and fewer if memory is scarce.
    lanes = lanes_of(math.ceil(batch / workers_of(batch, in_lanes, threads)), instance_bytes)
    alone = passes * plan.entries * ENTRY_NANOSECONDS + draws * DRAW_NANOSECONDS
    nanoseconds = in_lanes
    if lanes == 1:
        nanoseconds = alone
    with stop_of_sums() as stop:
        over_slices(
            partial(kernel, plan.schedule, lanes, stop),
            *arrays,
            nanoseconds=nanoseconds,
            threads=threads_in_memory(threads, instance_bytes * lanes),
            together=lanes,
        )


def lanes_of(share: int, instance_bytes: int) -> int:
    """Return how many instances of a thread's share of a batch go side by side.

    The number fits the vector width, the cache and the memory.
    """
    wanted = 16
    if share == 1:
        wanted = 1
    elif share <= 8 or 16 * instance_bytes > CACHE:
        wanted = 8
    return next(
        (lanes for lanes in (16, 8) if lanes <= wanted and lanes * instance_bytes <= MEMORY), 1
    )


def infer(
    plan: Plan, unary: Unary, pairwise: Pairwise, uniforms: np.ndarray, threads: int | None = None
) -> tuple[Scores, np.ndarray, States]:
    """Compute log Z, the marginals and samples of each instance.

    Log Z is `[batch]`, the marginals are `[batch, n + e]`, the samples `[batch, samples, n]`. The
    marginals are P(z_i = 1) and P(z_i = z_j = 1), the gradient of log Z.

    Args:
        plan: the plan of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        uniforms: `[batch, samples, n]` in [0, 1), one for each variable.
        threads: maximum number of threads; None for all cores.
    """
    unary, pairwise, uniforms = (
        np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise, uniforms)
    )
    log_z = np.empty(len(unary))
    ones = np.empty((len(unary), plan.n))
    pairs = np.empty((len(unary), plan.edges))
    z = np.empty(uniforms.shape, np.int8)
    draws = uniforms.shape[1] * uniforms.shape[2]
    arrays = (unary, pairwise, uniforms, log_z, ones, pairs, z)
    over_lanes(kernels.sum_product, plan, arrays, threads, draws=draws)
    # Rounded sums may exceed 1 slightly.
    return log_z, np.minimum(np.concatenate((ones, pairs), axis=1), 1.0), z
