"""Elimination of LANES instances side by side: for small tables and large batches."""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from ...compiled.vectors import LANES, Mask, add, fill, greater, larger, load, store
from .schedule import (
    BIT_END,
    BIT_START,
    ENTRY_START,
    LANE_IN,
    LANE_OUT,
    OFFSET_START,
    OWN_STRIDE,
    READ_END,
    READ_START,
    VARIABLE,
)

FOLDED_BITS = 5  # up to which all lanes fold a table of decisions faster than each looks up its own entry
LOW_BITS = 4  # the linear part is tabled by these bits of the separator and by the others


@jit.borrowing
def _load(values, scales, coefficients):
    """Transposes `[lanes, m]` to `[m, LANES]`; lanes that are left over repeat the last."""
    for lane in range(LANES):
        source = values[min(lane, len(values) - 1)]
        scale = scales[min(lane, len(values) - 1)]
        for i in range(len(source)):
            coefficients[i * LANES + lane] = source[i] * scale


@jit.borrowing
def _fill_sums(sums, base, weights, edges, first, last):
    """Fills the table of the sums over the separator bits first..last; returns its entries."""
    store(sums, 0, base)
    size = 1
    for i in range(first, last):
        weight = load(weights, edges[i] * LANES) if edges[i] >= 0 else fill(0.0)
        for s in range(size):
            store(sums, (size + s) * LANES, add(load(sums, s * LANES), weight))
        size *= 2
    return size


@jit.borrowing
def _leaf_table(low, low_size, high, high_size, arena, out, decisions, start):
    zero = fill(0.0)
    for h in range(high_size):
        field = load(high, h * LANES)
        for j in range(low_size):
            s = h * low_size + j
            gain = add(field, load(low, j * LANES))
            decisions[start + s] = greater(gain, zero)
            store(arena, (out + s) * LANES, larger(gain, zero))


@jit.borrowing
def _chain_table(r, reads, offsets, low, low_size, high, high_size, arena, out, decisions, start):
    base, own, first = reads[r, LANE_IN], reads[r, OWN_STRIDE], reads[r, OFFSET_START]
    for h in range(high_size):
        field = load(high, h * LANES)
        for j in range(low_size):
            s = h * low_size + j
            place = base + offsets[first + s]
            rest = load(arena, place * LANES)
            gain = add(add(field, load(low, j * LANES)), load(arena, (place + own) * LANES))
            decisions[start + s] = greater(gain, rest)
            store(arena, (out + s) * LANES, larger(gain, rest))


@jit.borrowing
def _join_table(r, end, reads, offsets, low, low_size, high, high_size, arena, out, decisions, start):
    for h in range(high_size):
        field = load(high, h * LANES)
        for j in range(low_size):
            s = h * low_size + j
            rest, gain = fill(0.0), add(field, load(low, j * LANES))
            for c in range(r, end):
                place = reads[c, LANE_IN] + offsets[reads[c, OFFSET_START] + s]
                rest = add(rest, load(arena, place * LANES))
                gain = add(gain, load(arena, (place + reads[c, OWN_STRIDE]) * LANES))
            decisions[start + s] = greater(gain, rest)
            store(arena, (out + s) * LANES, larger(gain, rest))


@jit.borrowing
def _step(t, steps, edges, reads, offsets, unary, pairwise, arena, decisions, low, high):
    """Fills the messages and the decisions of a step."""
    first, last = steps[t, BIT_START], steps[t, BIT_END]
    start, out = steps[t, ENTRY_START], steps[t, LANE_OUT]
    read, end = steps[t, READ_START], steps[t, READ_END]
    middle = min(last, first + LOW_BITS)
    low_size = _fill_sums(low, load(unary, steps[t, VARIABLE] * LANES), pairwise, edges, first, middle)
    high_size = _fill_sums(high, fill(0.0), pairwise, edges, middle, last)
    if end == read:
        _leaf_table(low, low_size, high, high_size, arena, out, decisions, start)
    elif end == read + 1:
        _chain_table(read, reads, offsets, low, low_size, high, high_size, arena, out, decisions, start)
    else:
        _join_table(read, end, reads, offsets, low, low_size, high, high_size, arena, out, decisions, start)


@jit.borrowing
def _links(t, steps, edges, reads, offsets, unary, pairwise, arena, decisions):
    """Fills the steps of a chain from t on, which need no tables of sums; returns the first step that is none."""
    while t < len(steps):
        first, read = steps[t, BIT_START], steps[t, READ_START]
        if steps[t, BIT_END] != first + 1 or steps[t, READ_END] != read + 1 or edges[first] < 0:
            break
        base, weight = load(unary, steps[t, VARIABLE] * LANES), load(pairwise, edges[first] * LANES)
        lane_in, own, offset = reads[read, LANE_IN], reads[read, OWN_STRIDE], reads[read, OFFSET_START]
        start, out = steps[t, ENTRY_START], steps[t, LANE_OUT]
        for s in range(2):
            place = lane_in + offsets[offset + s]
            rest, gain = load(arena, place * LANES), add(base, load(arena, (place + own) * LANES))
            decisions[start + s] = greater(gain, rest)
            store(arena, (out + s) * LANES, larger(gain, rest))
            base = add(base, weight)
        t += 1
    return t


@jit.borrowing
def _forward(steps, edges, reads, offsets, unary, pairwise, arena, decisions, low, high, maximum):
    total, t = fill(0.0), np.int64(0)
    while t < len(steps):
        bits, after = steps[t, BIT_END] - steps[t, BIT_START], t
        if bits == 1:
            after = _links(t, steps, edges, reads, offsets, unary, pairwise, arena, decisions)
        if after == t:
            _step(t, steps, edges, reads, offsets, unary, pairwise, arena, decisions, low, high)
            if bits == 0:
                total = add(total, load(arena, steps[t, LANE_OUT] * LANES))
            after = t + 1
        t = after
    store(maximum, 0, total)


@jit.borrowing
def _backtrack(steps, variables, decisions, states):
    """Sets bit `lane` of `states[v]` to the value of v; decisions are used up."""
    for t in range(len(steps) - 1, -1, -1):
        first, last, start = steps[t, BIT_START], steps[t, BIT_END], steps[t, ENTRY_START]
        if last - first > FOLDED_BITS:
            states[steps[t, VARIABLE]] = _gathered(first, last, start, variables, decisions, states)
            continue
        for i in range(last - 1, first - 1, -1):  # halves of the table by the last bit, and so on
            on, half = states[variables[i]], 1 << (i - first)
            for s in range(start, start + half):
                decisions[s] ^= (decisions[s] ^ decisions[s + half]) & on
        states[steps[t, VARIABLE]] = decisions[start]


@jit.borrowing
def _gathered(first, last, start, variables, decisions, states):
    """The decisions of a step, each lane's from its own entry."""
    chosen = np.int64(0)
    for lane in range(LANES):
        entry = start
        for i in range(first, last):
            entry += np.int64(states[variables[i]] >> lane & 1) << (i - first)
        chosen |= np.int64(decisions[entry] >> lane & 1) << lane
    return chosen


@jit.strict
def max_sum_lanes(schedule, arena_entries, entries, width, stop, scales, unary, pairwise, z, maxima):
    """Writes a maximiser and its score for every instance; not a number once `stop [1]` is set."""
    steps, variables, edges, reads, _, offsets = schedule
    n = len(steps)
    fields, weights = np.empty(n * LANES), np.empty(pairwise.shape[1] * LANES)
    arena = np.empty(arena_entries * LANES)
    decisions = np.empty(entries, Mask)
    low, high = np.empty(LANES << LOW_BITS), np.empty(LANES << max(width - LOW_BITS, 0))
    maximum = np.empty(LANES)
    states = np.empty(n, Mask)
    for start in range(0, len(z), LANES):
        if stop[0]:
            maxima[start:] = np.nan
            return
        end = min(start + LANES, len(z))
        _load(unary[start:end], scales[start:end], fields)
        _load(pairwise[start:end], scales[start:end], weights)
        _forward(steps, edges, reads, offsets, fields, weights, arena, decisions, low, high, maximum)
        _backtrack(steps, variables, decisions, states)
        for b in range(start, end):
            maxima[b] = maximum[b - start]
            for i in range(n):
                z[b, i] = states[i] >> (b - start) & 1
