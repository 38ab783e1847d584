"""The derivative of all marginals along a direction of the scores, at small treewidth.

Forward-mode differentiation of `sum_product`: a step's message, the shares of its variable and the flows each
have a rate of change. It equals Cov(phi, phi . direction), with phi the z_i and the z_i z_j of the edges.
"""

from __future__ import annotations

import numpy as np

from ..algorithms.elimination.plan import Plan
from ..algorithms.elimination.schedule import (
    BIT_END,
    BIT_START,
    ENTRY_START,
    OWN_STRIDE,
    READ_END,
    READ_START,
    VARIABLE,
)
from ..arrays import Pairwise, Unary
from ..compiled import jit
from ..compiled.bits import lowest_bit
from .sum_product import (
    add_pair,
    find_coupled,
    new_room,
    one_by_one,
    over_lanes,
    side_by_side,
    start_reads,
    sum_out_all,
)

BYTES = 48  # an entry: of all that this folder does, the most


@jit.strict
def _change(t, arrays, unary, pairwise, shares, changes, share_changes, room):
    """Rates of the message of step t and of the shares of its variable; the scores' are the direction.

    The rate of a message is the mean of the direction's score below it, given the separator.
    """
    steps, edges, reads, strides = arrays
    sums, ones, zeros, _, places, advances, _ = room
    start, first_bit, v = steps[t, ENTRY_START], steps[t, BIT_START], steps[t, VARIABLE]
    first, last, lanes = steps[t, READ_START], steps[t, READ_END], unary.shape[1]
    start_reads(t, steps, reads, strides, places, advances)
    for s in range(1 << (steps[t, BIT_END] - first_bit)):
        for lane in range(lanes):
            zeros[0, lane] = 0.0
            ones[0, lane] = unary[v, lane]
        if s:
            bit = lowest_bit(s)
            add_pair(edges[first_bit + bit], bit, s & (s - 1), pairwise, sums)
            for lane in range(lanes):
                ones[0, lane] += sums[bit, lane]
            for r in range(last - first):
                places[r] += advances[r, bit]
        for r in range(last - first):
            without, with_v = places[r], places[r] + reads[first + r, OWN_STRIDE]
            for lane in range(lanes):
                zeros[0, lane] += changes[without, lane]
                ones[0, lane] += changes[with_v, lane] - changes[without, lane]
        for lane in range(lanes):
            share, difference = shares[start + s, lane], ones[0, lane]
            changes[start + s, lane] = zeros[0, lane] + share * difference
            share_changes[start + s, lane] = share * (1.0 - share) * difference


@jit.strict
def _spread_changes(t, arrays, shares, share_changes, flows, flow_changes, of_variables, of_pairs, room):
    """Adds the rates of the marginals of step t and passes flows and their rates to what it read."""
    steps, edges, reads, strides = arrays
    _, ones, zeros, _, places, advances, coupled = room
    start, first_bit, last_bit = steps[t, ENTRY_START], steps[t, BIT_START], steps[t, BIT_END]
    first, last, v = steps[t, READ_START], steps[t, READ_END], steps[t, VARIABLE]
    lanes, count = flows.shape[1], find_coupled(t, steps, edges, coupled)
    start_reads(t, steps, reads, strides, places, advances)
    for s in range(1 << (last_bit - first_bit)):
        entry = start + s
        if s:
            for r in range(last - first):
                places[r] += advances[r, lowest_bit(s)]
        for lane in range(lanes):
            flow, share = flows[entry, lane], shares[entry, lane]
            ones[0, lane], zeros[0, lane] = flow * share, flow * (1.0 - share)
            change = flow_changes[entry, lane]
            ones[1, lane] = change * share + flow * share_changes[entry, lane]
            zeros[1, lane] = change - ones[1, lane]
        for lane in range(lanes):
            of_variables[v, lane] += ones[1, lane]
        for i in coupled[:count]:
            if s >> i & 1:
                for lane in range(lanes):
                    of_pairs[edges[first_bit + i], lane] += ones[1, lane]
        for r in range(last - first):
            without, with_v = places[r], places[r] + reads[first + r, OWN_STRIDE]
            for lane in range(lanes):
                flows[without, lane] += zeros[0, lane]
                flow_changes[without, lane] += zeros[1, lane]
            for lane in range(lanes):
                flows[with_v, lane] += ones[0, lane]
                flow_changes[with_v, lane] += ones[1, lane]


@jit.strict
def _covary(
    schedule, entries, most_reads, lanes, unary, pairwise, unary_direction, pairwise_direction, ones, pairs
):
    steps, _, edges, reads, strides, _ = schedule
    arrays = (steps, edges, reads, strides)
    messages, shares = np.empty((entries, lanes)), np.empty((entries, lanes))
    changes, share_changes = np.empty((entries, lanes)), np.empty((entries, lanes))
    flows, flow_changes = np.empty((entries, lanes)), np.empty((entries, lanes))
    fields, weights = np.empty((unary.shape[1], lanes)), np.empty((pairwise.shape[1], lanes))
    of_variables, of_pairs = np.empty_like(fields), np.empty_like(weights)
    room = new_room(most_reads, lanes)
    for first in range(0, len(unary), lanes):
        last = min(first + lanes, len(unary))
        sum_out_all(arrays, unary[first:last], pairwise[first:last], fields, weights, messages, shares, room)
        side_by_side(unary_direction[first:last], lanes, fields)
        side_by_side(pairwise_direction[first:last], lanes, weights)
        for t in range(len(steps)):
            _change(t, arrays, fields, weights, shares, changes, share_changes, room)
        flows[:] = 0.0
        flow_changes[:] = 0.0
        of_variables[:] = 0.0
        of_pairs[:] = 0.0
        for t in range(len(steps) - 1, -1, -1):
            if steps[t, BIT_START] == steps[t, BIT_END]:
                flows[steps[t, ENTRY_START]] = 1.0
            _spread_changes(
                t, arrays, shares, share_changes, flows, flow_changes, of_variables, of_pairs, room
            )
        one_by_one(of_variables, ones[first:last])
        one_by_one(of_pairs, pairs[first:last])


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
    ones, pairs = np.empty((len(unary), plan.n)), np.empty((len(unary), plan.edges))
    over_lanes(_covary, plan, (*arrays, ones, pairs), threads, passes=3, bytes_an_entry=BYTES)
    return np.concatenate((ones, pairs), axis=1)
