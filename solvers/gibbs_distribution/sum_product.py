"""Log-partition function, marginals and samples of p(z) ~ exp(score(z)) at small treewidth, by sum-product.

The schedule is that of the maximisers, with log-sum-exp for the maximum; the tables of all steps are kept:
24 bytes an entry. Backwards, the probability of every separator state flows from a step to those that it
read from; a sample has one state of each separator.

Instances of a batch go side by side, in lanes: an entry of a table is a row of as many numbers, so that what is done
to find the entry is done once, and the numbers fill vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

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
from ..compiled.threads import MEMORY, over_slices, threads_in_memory, workers_of
from .exponentials import sum_exponentials

ENTRY_NANOSECONDS, ENTRY_NANOSECONDS_IN_LANES, DRAW_NANOSECONDS = 40.0, 6.0, 5.0
BYTES = 24  # an entry
TOGETHER = 64
"""Entries of a table whose exponentials are taken at once: few enough for the fastest memory."""


class Room(NamedTuple):
    """What a step writes in and no other reads.

    Attributes:
        sums: `[bits, lanes]`, by bit of the separator's state, of the scores of pairs.
        ones, zeros: `[TOGETHER, lanes]`, scores of entries with the step's variable at 1 and at 0.
        powers: `[TOGETHER lanes]`.
        places: `[reads]`, of the entries of messages.
        advances: `[reads, bits]`, how far these move where counting on sets a bit.
        coupled: `[bits]`, those of the separator that have a pair with the step's variable.
    """

    sums: np.ndarray
    ones: np.ndarray
    zeros: np.ndarray
    powers: np.ndarray
    places: np.ndarray
    advances: np.ndarray
    coupled: np.ndarray


@jit.strict
def new_room(most_reads, lanes):
    """Room for the steps of a schedule."""
    return Room(
        np.empty((MAX_BITS, lanes)),
        np.empty((TOGETHER, lanes)),
        np.empty((TOGETHER, lanes)),
        np.empty(TOGETHER * lanes),
        np.empty(most_reads, np.int64),
        np.empty((most_reads, MAX_BITS), np.int64),
        np.empty(MAX_BITS, np.int64),
    )


@jit.strict
def side_by_side(values, lanes, beside):
    """Transposes `[count, m]` to `[m, lanes]`; lanes that are left over repeat the last."""
    for lane in range(lanes):
        source = values[min(lane, len(values) - 1)]
        for i in range(len(source)):
            beside[i, lane] = source[i]


@jit.strict
def one_by_one(beside, values):
    """Transposes it back."""
    for lane in range(len(values)):
        for i in range(len(beside)):
            values[lane, i] = beside[i, lane]


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
def add_pair(e, bit, rest, pairwise, sums):
    """The scores of pairs at a state whose lowest bit is `bit`, from those of `rest`, the state without it."""
    lanes = sums.shape[1]
    if rest:
        parent = lowest_bit(rest)
        for lane in range(lanes):
            sums[bit, lane] = sums[parent, lane]
    else:
        for lane in range(lanes):
            sums[bit, lane] = 0.0
    if e >= 0:
        for lane in range(lanes):
            sums[bit, lane] += pairwise[e, lane]


@jit.strict
def find_coupled(t, steps, edges, coupled):
    """Lists the bits of a step's separator that have a pair with its variable; how many there are."""
    count = 0
    for i in range(steps[t, BIT_END] - steps[t, BIT_START]):
        if edges[steps[t, BIT_START] + i] >= 0:
            coupled[count] = i
            count += 1
    return count


@jit.strict
def sum_out(t, schedule_arrays, unary, pairwise, messages, shares, room):
    """Fills the message of step t, and the probability that its variable is 1 for each entry."""
    steps, edges, reads, strides = schedule_arrays
    sums, ones, zeros, powers, places, advances, _ = room
    start, first_bit, v = steps[t, ENTRY_START], steps[t, BIT_START], steps[t, VARIABLE]
    first, last = steps[t, READ_START], steps[t, READ_END]
    lanes, size = unary.shape[1], 1 << (steps[t, BIT_END] - first_bit)
    start_reads(t, steps, reads, strides, places, advances)
    for s in range(size):
        row = s % TOGETHER
        for lane in range(lanes):
            zeros[row, lane] = 0.0
            ones[row, lane] = unary[v, lane]
        if s:
            bit = lowest_bit(s)
            add_pair(edges[first_bit + bit], bit, s & (s - 1), pairwise, sums)
            for lane in range(lanes):
                ones[row, lane] += sums[bit, lane]
            for r in range(last - first):
                places[r] += advances[r, bit]
        for r in range(last - first):
            without, with_v = places[r], places[r] + reads[first + r, OWN_STRIDE]
            for lane in range(lanes):
                zeros[row, lane] += messages[without, lane]
            for lane in range(lanes):
                ones[row, lane] += messages[with_v, lane]
        if row == TOGETHER - 1 or s == size - 1:
            begin, count = start + s - row, (row + 1) * lanes
            sum_exponentials(
                ones[: row + 1].reshape(count),
                zeros[: row + 1].reshape(count),
                powers[:count],
                messages[begin : begin + row + 1].reshape(count),
                shares[begin : begin + row + 1].reshape(count),
            )


@jit.strict
def spread(t, schedule_arrays, shares, flows, unary_marginals, pairwise_marginals, room):
    """Adds the marginals of step t and passes the probabilities of its entries to what it read."""
    steps, edges, reads, strides = schedule_arrays
    _, ones, zeros, _, places, advances, coupled = room
    start, first_bit, last_bit = steps[t, ENTRY_START], steps[t, BIT_START], steps[t, BIT_END]
    first, last, v = steps[t, READ_START], steps[t, READ_END], steps[t, VARIABLE]
    lanes, count = flows.shape[1], find_coupled(t, steps, edges, coupled)
    start_reads(t, steps, reads, strides, places, advances)
    for s in range(1 << (last_bit - first_bit)):
        if s:
            for r in range(last - first):
                places[r] += advances[r, lowest_bit(s)]
        for lane in range(lanes):
            ones[0, lane] = flows[start + s, lane] * shares[start + s, lane]
            zeros[0, lane] = flows[start + s, lane] * (1.0 - shares[start + s, lane])
        for lane in range(lanes):
            unary_marginals[v, lane] += ones[0, lane]
        for i in coupled[:count]:
            if s >> i & 1:
                for lane in range(lanes):
                    pairwise_marginals[edges[first_bit + i], lane] += ones[0, lane]
        for r in range(last - first):
            without, with_v = places[r], places[r] + reads[first + r, OWN_STRIDE]
            for lane in range(lanes):
                flows[without, lane] += zeros[0, lane]
            for lane in range(lanes):
                flows[with_v, lane] += ones[0, lane]


@jit.inlined
def sum_out_all(arrays, unary, pairwise, fields, weights, messages, shares, room):
    """Eliminates every variable of instances that go side by side, whose scores are put into fields and weights."""
    lanes = fields.shape[1]
    side_by_side(unary, lanes, fields)
    side_by_side(pairwise, lanes, weights)
    for t in range(len(arrays[0])):
        sum_out(t, arrays, fields, weights, messages, shares, room)


@jit.strict
def draw_steps(end, steps, variables, shares, lane, uniforms, z):
    """Draws the variables of the steps before `end`, each given its separator, which steps behind its own eliminate."""
    for t in range(end - 1, -1, -1):
        state = 0
        for bit in range(steps[t, BIT_END] - steps[t, BIT_START]):
            state |= np.int64(z[variables[steps[t, BIT_START] + bit]]) << bit
        v = steps[t, VARIABLE]
        z[v] = uniforms[v] < shares[steps[t, ENTRY_START] + state, lane]


@jit.strict
def _infer(schedule, entries, most_reads, lanes, unary, pairwise, uniforms, log_z, ones, pairs, z):
    steps, variables, edges, reads, strides, _ = schedule
    arrays = (steps, edges, reads, strides)
    messages, shares = np.empty((entries, lanes)), np.empty((entries, lanes))
    flows, room = np.empty((entries, lanes)), new_room(most_reads, lanes)
    fields, weights = np.empty((unary.shape[1], lanes)), np.empty((pairwise.shape[1], lanes))
    of_variables, of_pairs = np.empty_like(fields), np.empty_like(weights)
    for first in range(0, len(unary), lanes):
        last = min(first + lanes, len(unary))
        sum_out_all(arrays, unary[first:last], pairwise[first:last], fields, weights, messages, shares, room)
        log_z[first:last] = 0.0
        for t in range(len(steps)):
            if steps[t, BIT_START] == steps[t, BIT_END]:
                for b in range(first, last):
                    log_z[b] += messages[steps[t, ENTRY_START], b - first]
        for b in range(first, last):
            for k in range(uniforms.shape[1]):
                draw_steps(len(steps), steps, variables, shares, b - first, uniforms[b, k], z[b, k])
        flows[:] = 0.0
        of_variables[:] = 0.0
        of_pairs[:] = 0.0
        for t in range(len(steps) - 1, -1, -1):
            if steps[t, BIT_START] == steps[t, BIT_END]:
                flows[steps[t, ENTRY_START]] = 1.0
            spread(t, arrays, shares, flows, of_variables, of_pairs, room)
        one_by_one(of_variables, ones[first:last])
        one_by_one(of_pairs, pairs[first:last])


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
        kernel: takes the plan's schedule, its entries and its most reads, how many go side by side, and the arrays.
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
        partial(kernel, plan.schedule, plan.entries, plan.most_reads, lanes),
        *arrays,
        nanoseconds=alone if lanes == 1 else in_lanes,
        threads=threads_in_memory(threads, instance_bytes * lanes),
        together=lanes,
    )


def lanes_of(share: int, instance_bytes: int) -> int:
    """How many instances of a thread's share of a batch go side by side: as vectors and memory have room for."""
    wanted = 1 if share == 1 else 8 if share <= 8 else 16
    return next((lanes for lanes in (16, 8) if lanes <= wanted and lanes * instance_bytes <= MEMORY), 1)


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
    over_lanes(_infer, plan, arrays, threads, draws=uniforms[0].size)
    return log_z, np.minimum(np.concatenate((ones, pairs), axis=1), 1.0), z
