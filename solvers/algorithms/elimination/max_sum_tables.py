"""Elimination of one instance at a time, LANES entries of a table side by side: for large tables.

A table has at least LANES entries: those with fewer than LANE_BITS bits repeat themselves. Its index has
LANE_BITS low bits within a vector, up to MIDDLE_BITS middle bits whose shares of sums and places are tabled,
and high bits that are counted.
"""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from ...compiled.bits import lowest_bit
from ...compiled.vectors import LANE_BITS, LANES, Mask, add, fill, greater, larger, load, load_spread, store
from .schedule import (
    BIT_END,
    BIT_START,
    MAX_BITS,
    OWN_STRIDE,
    READ_END,
    READ_START,
    STRIDE_START,
    TABLE_IN,
    TABLE_OUT,
    VARIABLE,
    WORD_START,
)

MIDDLE_BITS = 6
MIDDLES = 1 << MIDDLE_BITS


@jit.strict
def _fill_sums(sums, start, base, terms, first, last):
    """sums[start + s] = base + the terms first..last of the set bits of s."""
    sums[start] = base
    size = 1
    for i in range(first, last):
        term = terms[i]
        for s in range(start, start + size):
            sums[s + size] = sums[s] + term
        size *= 2


@jit.strict
def _read_bits(r, c, bits, reads, strides, present, middles, advances):
    """Prepares the places of a message of `bits` bits: within a vector, by middle bits and when counting."""
    first = reads[r, STRIDE_START]
    low, middle = min(bits, LANE_BITS), min(bits, LANE_BITS + MIDDLE_BITS)
    present[c] = 0
    for i in range(low):
        present[c] |= np.int64(strides[first + i] != 0) << i
    _fill_sums(middles, c * MIDDLES, 0, strides, first + low, first + middle)
    # Counting from h to h + 1 clears the trailing ones and sets the next bit.
    total = 0
    for i in range(middle, bits):
        advances[c * MAX_BITS + i - middle] = strides[first + i] - total
        total += strides[first + i]


@jit.strict
def _blocks(r, end, reads, present, middles, bases, low_field, fields, high, size, arena, out, words, word):
    """Fills `size` vectors of a message."""
    for m in range(size):
        rest, gain = fill(0.0), add(low_field, fill(high + fields[m]))
        for c in range(end - r):
            place = bases[c] + middles[c * MIDDLES + m]
            rest = add(rest, load_spread(arena, place, present[c]))
            gain = add(gain, load_spread(arena, place + reads[r + c, OWN_STRIDE], present[c]))
        words[word + m] = greater(gain, rest)
        store(arena, out + m * LANES, larger(gain, rest))


@jit.strict
def _chain_blocks(own, present, middles, base, low_field, fields, high, size, arena, out, words, word):
    """The same for the one message whose places are the first."""
    for m in range(size):
        place = base + middles[m]
        gain = add(low_field, fill(high + fields[m]))
        rest = load_spread(arena, place, present)
        gain = add(gain, load_spread(arena, place + own, present))
        words[word + m] = greater(gain, rest)
        store(arena, out + m * LANES, larger(gain, rest))


@jit.strict
def _step(t, steps, reads, strides, weights, unary, arena, words, scratch):
    """Fills the message and the decisions of step t; `weights` are by bit of the separator."""
    low_sums, fields, highs, present, middles, advances, bases = scratch
    bits = steps[t, BIT_END] - steps[t, BIT_START]
    low, middle = min(bits, LANE_BITS), min(bits, LANE_BITS + MIDDLE_BITS)
    r, end = steps[t, READ_START], steps[t, READ_END]
    _fill_sums(low_sums, 0, unary, weights, 0, low)
    for s in range(1 << low, LANES):
        low_sums[s] = low_sums[s - (1 << low)]
    _fill_sums(fields, 0, 0.0, weights, low, middle)
    for c in range(end - r):
        _read_bits(r + c, c, bits, reads, strides, present, middles, advances)
        bases[c] = reads[r + c, TABLE_IN]
    low_field, size = load(low_sums, 0), 1 << (middle - low)
    out, word = steps[t, TABLE_OUT], steps[t, WORD_START]
    for h in range(1 << (bits - middle)):
        field = 0.0
        if h:
            bit = lowest_bit(h)
            parent = h & (h - 1)
            field = weights[middle + bit] + (highs[lowest_bit(parent)] if parent else 0.0)
            highs[bit] = field
            for c in range(end - r):
                bases[c] += advances[c * MAX_BITS + bit]
        if end == r + 1:
            own = reads[r, OWN_STRIDE]
            _chain_blocks(
                own, present[0], middles, bases[0], low_field, fields, field, size, arena, out, words, word
            )
        else:
            _blocks(
                r,
                end,
                reads,
                present,
                middles,
                bases,
                low_field,
                fields,
                field,
                size,
                arena,
                out,
                words,
                word,
            )
        out += size * LANES
        word += size


@jit.strict
def _backtrack(b, steps, variables, words, z):
    for t in range(len(steps) - 1, -1, -1):
        first = steps[t, BIT_START]
        entry = 0
        for i in range(first, steps[t, BIT_END]):
            entry |= np.int64(z[b, variables[i]]) << (i - first)
        word = np.int64(words[steps[t, WORD_START] + (entry >> LANE_BITS)])
        z[b, steps[t, VARIABLE]] = word >> (entry & (LANES - 1)) & 1


@jit.strict
def max_sum_tables(schedule, arena_entries, word_count, most_reads, stop, scales, unary, pairwise, z, maxima):
    """Writes a maximiser and its score for every instance; not a number once `stop [1]` is set."""
    steps, variables, edges, reads, strides, _ = schedule
    arena = np.empty(arena_entries + LANES)  # a spread may read beyond its message
    words = np.empty(word_count, Mask)
    scratch = (
        np.empty(LANES),
        np.empty(MIDDLES),
        np.empty(MAX_BITS),
        np.empty(most_reads, np.int64),
        np.empty(most_reads * MIDDLES, np.int64),
        np.empty(most_reads * MAX_BITS, np.int64),
        np.empty(most_reads, np.int64),
    )
    weights = np.empty(MAX_BITS)
    for b in range(len(z)):
        scale = scales[b]
        maximum = 0.0
        for t in range(len(steps)):
            first, last = steps[t, BIT_START], steps[t, BIT_END]
            for i in range(first, last):
                e = edges[i]
                weights[i - first] = pairwise[b, e] * scale if e >= 0 else 0.0
            field = unary[b, steps[t, VARIABLE]] * scale
            if stop[0]:
                maxima[b:] = np.nan
                return
            _step(t, steps, reads, strides, weights, field, arena, words, scratch)
            if first == last:
                maximum += arena[steps[t, TABLE_OUT]]
        _backtrack(b, steps, variables, words, z)
        maxima[b] = maximum
