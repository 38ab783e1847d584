"""Log-partition function and marginals of p(z) ~ exp(score(z)) at small treewidth, by sum-product.

The schedule is that of the maximisers, with log-sum-exp for the maximum; the tables of all steps are kept:
24 bytes an entry. Backwards, the probability of every separator state flows from a step to those that it
read from.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numba import njit

from .arrays import Pairwise, Scores, Unary
from .bits import lowest_bit
from .elimination_plan import (
    BIT_END,
    BIT_START,
    ENTRY_IN,
    ENTRY_START,
    OWN_STRIDE,
    READ_END,
    READ_START,
    STRIDE_START,
    VARIABLE,
    Plan,
)
from .threads import over_slices

ENTRY_NANOSECONDS = 40.0
MAX_BITS = 62

_jit = njit(cache=True, nogil=True, error_model="numpy")


@_jit
def _start_reads(t, steps, reads, strides, places, advances):
    """Sets the places of the messages at entry 0, and how far they move when counting on from there."""
    bits, first = steps[t, BIT_END] - steps[t, BIT_START], steps[t, READ_START]
    for r in range(first, steps[t, READ_END]):
        places[r - first] = reads[r, ENTRY_IN]
        total = 0
        for i in range(bits):
            stride = strides[reads[r, STRIDE_START] + i]
            advances[r - first, i] = stride - total
            total += stride


@_jit
def _sum_out(t, b, schedule_arrays, unary, pairwise, messages, shares, sums, places, advances):
    """Fills the message of step t, and the probability that its variable is 1 for each entry."""
    steps, edges, reads, strides = schedule_arrays
    start, first_bit = steps[t, ENTRY_START], steps[t, BIT_START]
    first, last = steps[t, READ_START], steps[t, READ_END]
    _start_reads(t, steps, reads, strides, places, advances)
    base = unary[b, steps[t, VARIABLE]]
    for s in range(1 << (steps[t, BIT_END] - first_bit)):
        field = 0.0
        if s:
            bit, parent = lowest_bit(s), s & (s - 1)
            e = edges[first_bit + bit]
            field = (pairwise[b, e] if e >= 0 else 0.0) + (sums[lowest_bit(parent)] if parent else 0.0)
            sums[bit] = field
            for r in range(last - first):
                places[r] += advances[r, bit]
        rest, gain = 0.0, base + field
        for r in range(last - first):
            rest += messages[places[r]]
            gain += messages[places[r] + reads[first + r, OWN_STRIDE]]
        decay = math.exp(-abs(gain - rest))
        messages[start + s] = max(gain, rest) + math.log1p(decay)
        shares[start + s] = (1.0 if gain > rest else decay) / (1.0 + decay)


@_jit
def _spread(t, b, schedule_arrays, shares, flows, unary_marginals, pairwise_marginals, places, advances):
    """Adds the marginals of step t and passes the probabilities of its entries to what it read."""
    steps, edges, reads, strides = schedule_arrays
    start, first_bit, last_bit = steps[t, ENTRY_START], steps[t, BIT_START], steps[t, BIT_END]
    first, last = steps[t, READ_START], steps[t, READ_END]
    _start_reads(t, steps, reads, strides, places, advances)
    for s in range(1 << (last_bit - first_bit)):
        if s:
            for r in range(last - first):
                places[r] += advances[r, lowest_bit(s)]
        with_v = flows[start + s] * shares[start + s]
        unary_marginals[b, steps[t, VARIABLE]] += with_v
        for i in range(last_bit - first_bit):
            if s >> i & 1 and edges[first_bit + i] >= 0:
                pairwise_marginals[b, edges[first_bit + i]] += with_v
        for r in range(last - first):
            flows[places[r]] += flows[start + s] * (1.0 - shares[start + s])
            flows[places[r] + reads[first + r, OWN_STRIDE]] += with_v


@_jit
def _solve(schedule, entries, most_reads, unary, pairwise, log_z, unary_marginals, pairwise_marginals):
    """Writes the log-partition functions, and the marginals unless their arrays are `[batch, 0]`."""
    steps, _, edges, reads, strides, _ = schedule
    arrays = (steps, edges, reads, strides)
    messages, shares, flows = np.empty(entries), np.empty(entries), np.empty(entries)
    sums, places = np.empty(MAX_BITS), np.empty(most_reads, np.int64)
    advances = np.empty((most_reads, MAX_BITS), np.int64)
    for b in range(len(unary)):
        total = 0.0
        for t in range(len(steps)):
            _sum_out(t, b, arrays, unary, pairwise, messages, shares, sums, places, advances)
            if steps[t, BIT_START] == steps[t, BIT_END]:
                total += messages[steps[t, ENTRY_START]]
        log_z[b] = total
        if unary_marginals.shape[1] == 0:
            continue
        flows[:] = 0.0
        for t in range(len(steps) - 1, -1, -1):
            if steps[t, BIT_START] == steps[t, BIT_END]:
                flows[steps[t, ENTRY_START]] = 1.0
            _spread(t, b, arrays, shares, flows, unary_marginals, pairwise_marginals, places, advances)


def log_partition(plan: Plan, unary: Unary, pairwise: Pairwise, threads: int | None = None) -> Scores:
    """Log sum_z exp(score(z)) `[batch]`, in nats.

    Args:
        plan: of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        threads: most threads to use; None for all cores.
    """
    nothing = np.empty((len(unary), 0))
    return _run(plan, unary, pairwise, nothing, nothing, threads)


def marginals(
    plan: Plan, unary: Unary, pairwise: Pairwise, threads: int | None = None
) -> tuple[Scores, Unary, Pairwise]:
    """The log-partition `[batch]`, P(z_i = 1) `[batch, n]` and P(z_i = z_j = 1) `[batch, e]`.

    The probabilities are the gradient of the log-partition with respect to unary and pairwise.
    Arguments as in `log_partition`.
    """
    ones, pairs = np.zeros((len(unary), plan.n)), np.zeros((len(unary), plan.edges))
    return _run(plan, unary, pairwise, ones, pairs, threads), ones, pairs


def _run(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    unary_marginals: np.ndarray,
    pairwise_marginals: np.ndarray,
    threads: int | None,
) -> np.ndarray:
    unary, pairwise = (np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise))
    log_z = np.empty(len(unary))
    kernel = partial(_solve, plan.schedule, plan.entries, plan.most_reads)
    arrays = (unary, pairwise, log_z, unary_marginals, pairwise_marginals)
    over_slices(kernel, *arrays, nanoseconds=ENTRY_NANOSECONDS * plan.entries, threads=threads)
    return log_z
