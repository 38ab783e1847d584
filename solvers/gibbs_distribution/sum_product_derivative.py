"""The derivative of all marginals along a direction of the scores, at small treewidth.

Forward-mode differentiation of `sum_product`: a step's message, the shares of its variable and the flows each
have a rate of change. It equals Cov(phi, phi . direction), with phi the z_i and the z_i z_j of the edges.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..algorithms.elimination.plan import Plan
from ..algorithms.elimination.schedule import (
    BIT_END,
    BIT_START,
    ENTRY_START,
    MAX_BITS,
    OWN_STRIDE,
    READ_END,
    READ_START,
    VARIABLE,
)
from ..arrays import Pairwise, Unary
from ..compiled import jit
from ..compiled.bits import lowest_bit
from ..compiled.threads import over_slices, threads_in_memory
from .sum_product import ENTRY_NANOSECONDS, start_reads, sum_out

BYTES = 48  # an entry: of all that this folder does, the most


@jit.strict
def _change(t, b, arrays, unary, pairwise, shares, changes, share_changes, sums, places, advances):
    """Rates of the message of step t and of the shares of its variable; the scores' are the direction.

    The rate of a message is the mean of the direction's score below it, given the separator.
    """
    steps, edges, reads, strides = arrays
    start, first_bit = steps[t, ENTRY_START], steps[t, BIT_START]
    first, last = steps[t, READ_START], steps[t, READ_END]
    start_reads(t, steps, reads, strides, places, advances)
    for s in range(1 << (steps[t, BIT_END] - first_bit)):
        field = 0.0
        if s:
            bit, parent = lowest_bit(s), s & (s - 1)
            e = edges[first_bit + bit]
            field = (pairwise[b, e] if e >= 0 else 0.0) + (sums[lowest_bit(parent)] if parent else 0.0)
            sums[bit] = field
            for r in range(last - first):
                places[r] += advances[r, bit]
        rest, difference = 0.0, unary[b, steps[t, VARIABLE]] + field
        for r in range(last - first):
            without = changes[places[r]]
            rest += without
            difference += changes[places[r] + reads[first + r, OWN_STRIDE]] - without
        share = shares[start + s]
        changes[start + s] = rest + share * difference
        share_changes[start + s] = share * (1.0 - share) * difference


@jit.strict
def _spread_changes(t, b, arrays, shares, share_changes, flows, flow_changes, ones, pairs, places, advances):
    """Adds the rates of the marginals of step t and passes flows and their rates to what it read."""
    steps, edges, reads, strides = arrays
    start, first_bit, last_bit = steps[t, ENTRY_START], steps[t, BIT_START], steps[t, BIT_END]
    first, last = steps[t, READ_START], steps[t, READ_END]
    start_reads(t, steps, reads, strides, places, advances)
    for s in range(1 << (last_bit - first_bit)):
        if s:
            for r in range(last - first):
                places[r] += advances[r, lowest_bit(s)]
        flow, share, change = flows[start + s], shares[start + s], flow_changes[start + s]
        with_v = flow * share
        change_with_v = change * share + flow * share_changes[start + s]
        ones[b, steps[t, VARIABLE]] += change_with_v
        for i in range(last_bit - first_bit):
            if s >> i & 1 and edges[first_bit + i] >= 0:
                pairs[b, edges[first_bit + i]] += change_with_v
        for r in range(last - first):
            with_place = places[r] + reads[first + r, OWN_STRIDE]
            flows[places[r]] += flow * (1.0 - share)
            flows[with_place] += with_v
            flow_changes[places[r]] += change - change_with_v
            flow_changes[with_place] += change_with_v


@jit.strict
def _covary(schedule, entries, most_reads, unary, pairwise, unary_direction, pairwise_direction, ones, pairs):
    steps, _, edges, reads, strides, _ = schedule
    arrays = (steps, edges, reads, strides)
    messages, shares, flows = np.empty(entries), np.empty(entries), np.empty(entries)
    changes, share_changes, flow_changes = np.empty(entries), np.empty(entries), np.empty(entries)
    sums, places = np.empty(MAX_BITS), np.empty(most_reads, np.int64)
    advances = np.empty((most_reads, MAX_BITS), np.int64)
    for b in range(len(unary)):
        for t in range(len(steps)):
            sum_out(t, b, arrays, unary, pairwise, messages, shares, sums, places, advances)
            _change(
                t,
                b,
                arrays,
                unary_direction,
                pairwise_direction,
                shares,
                changes,
                share_changes,
                sums,
                places,
                advances,
            )
        flows[:] = 0.0
        flow_changes[:] = 0.0
        for t in range(len(steps) - 1, -1, -1):
            if steps[t, BIT_START] == steps[t, BIT_END]:
                flows[steps[t, ENTRY_START]] = 1.0
            _spread_changes(
                t, b, arrays, shares, share_changes, flows, flow_changes, ones, pairs, places, advances
            )


def covariance_product(
    plan: Plan, unary: Unary, pairwise: Pairwise, direction: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Cov(phi, phi . direction) `[batch, n + e]`.

    Args:
        plan: of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        direction: `[batch, n + e]`, finite.
        threads: most threads to use; None for all cores.
    """
    scores = (unary, pairwise, direction[:, : plan.n], direction[:, plan.n :])
    arrays = [np.require(array, np.float64, ["C", "W"]) for array in scores]
    ones, pairs = np.zeros((len(unary), plan.n)), np.zeros((len(unary), plan.edges))
    kernel = partial(_covary, plan.schedule, plan.entries, plan.most_reads)
    workers = threads_in_memory(threads, BYTES * plan.entries)
    over_slices(
        kernel, *arrays, ones, pairs, nanoseconds=3 * ENTRY_NANOSECONDS * plan.entries, threads=workers
    )
    return np.concatenate((ones, pairs), axis=1)
