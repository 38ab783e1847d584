"""Log-partition function, marginals and samples of p(z) ~ exp(score(z)) at small treewidth, by sum-product.

The schedule is that of the maximisers, with log-sum-exp for the maximum; the tables of all steps are kept:
24 bytes an entry. Backwards, the probability of every separator state flows from a step to those that it
read from; a sample has one state of each separator.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..algorithms.elimination.plan import Plan
from ..algorithms.elimination.schedule import (
    BIT_END,
    BIT_START,
    ENTRY_IN,
    ENTRY_START,
    MAX_BITS,
    OWN_STRIDE,
    READ_END,
    READ_START,
    STRIDE_START,
    VARIABLE,
)
from ..arrays import Pairwise, Scores, States, Unary
from ..compiled import jit
from ..compiled.bits import lowest_bit
from ..compiled.threads import over_slices, threads_in_memory

ENTRY_NANOSECONDS, DRAW_NANOSECONDS = 40.0, 5.0
BYTES = 24  # an entry


@jit.strict
def start_reads(t, steps, reads, strides, places, advances):
    """Sets the places of the messages at entry 0, and how far they move when counting on from there."""
    bits, first = steps[t, BIT_END] - steps[t, BIT_START], steps[t, READ_START]
    for r in range(first, steps[t, READ_END]):
        places[r - first] = reads[r, ENTRY_IN]
        total = 0
        for i in range(bits):
            stride = strides[reads[r, STRIDE_START] + i]
            advances[r - first, i] = stride - total
            total += stride


@jit.strict
def sum_out(t, b, schedule_arrays, unary, pairwise, messages, shares, sums, places, advances):
    """Fills the message of step t, and the probability that its variable is 1 for each entry."""
    steps, edges, reads, strides = schedule_arrays
    start, first_bit = steps[t, ENTRY_START], steps[t, BIT_START]
    first, last = steps[t, READ_START], steps[t, READ_END]
    start_reads(t, steps, reads, strides, places, advances)
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


@jit.strict
def spread(t, b, schedule_arrays, shares, flows, unary_marginals, pairwise_marginals, places, advances):
    """Adds the marginals of step t and passes the probabilities of its entries to what it read."""
    steps, edges, reads, strides = schedule_arrays
    start, first_bit, last_bit = steps[t, ENTRY_START], steps[t, BIT_START], steps[t, BIT_END]
    first, last = steps[t, READ_START], steps[t, READ_END]
    start_reads(t, steps, reads, strides, places, advances)
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


@jit.strict
def draw_steps(end, steps, variables, shares, uniforms, z):
    """Draws the variables of the steps before `end`, each given its separator, which steps behind its own eliminate."""
    for t in range(end - 1, -1, -1):
        state = 0
        for bit in range(steps[t, BIT_END] - steps[t, BIT_START]):
            state |= np.int64(z[variables[steps[t, BIT_START] + bit]]) << bit
        v = steps[t, VARIABLE]
        z[v] = uniforms[v] < shares[steps[t, ENTRY_START] + state]


@jit.strict
def _infer(schedule, entries, most_reads, unary, pairwise, uniforms, log_z, ones, pairs, z):
    steps, variables, edges, reads, strides, _ = schedule
    arrays = (steps, edges, reads, strides)
    messages, shares, flows = np.empty(entries), np.empty(entries), np.empty(entries)
    sums, places = np.empty(MAX_BITS), np.empty(most_reads, np.int64)
    advances = np.empty((most_reads, MAX_BITS), np.int64)
    for b in range(len(unary)):
        total = 0.0
        for t in range(len(steps)):
            sum_out(t, b, arrays, unary, pairwise, messages, shares, sums, places, advances)
            if steps[t, BIT_START] == steps[t, BIT_END]:
                total += messages[steps[t, ENTRY_START]]
        log_z[b] = total
        for k in range(uniforms.shape[1]):
            draw_steps(len(steps), steps, variables, shares, uniforms[b, k], z[b, k])
        flows[:] = 0.0
        for t in range(len(steps) - 1, -1, -1):
            if steps[t, BIT_START] == steps[t, BIT_END]:
                flows[steps[t, ENTRY_START]] = 1.0
            spread(t, b, arrays, shares, flows, ones, pairs, places, advances)


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
        np.zeros((len(unary), plan.n)),
        np.zeros((len(unary), plan.edges)),
    )
    z = np.empty(uniforms.shape, np.int8)
    kernel = partial(_infer, plan.schedule, plan.entries, plan.most_reads)
    arrays = (unary, pairwise, uniforms, log_z, ones, pairs, z)
    nanoseconds = ENTRY_NANOSECONDS * plan.entries + DRAW_NANOSECONDS * uniforms[0].size
    workers = threads_in_memory(threads, BYTES * plan.entries)
    over_slices(kernel, *arrays, nanoseconds=nanoseconds, threads=workers)
    return log_z, np.minimum(np.concatenate((ones, pairs), axis=1), 1.0), z
