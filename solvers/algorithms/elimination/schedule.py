"""The schedule of an elimination, as arrays that the kernels read, filled by a kernel itself.

Plans of random parts of large graphs are made thousands of times; sets and lists would take a hundred times as
long as the elimination.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit
from ...compiled.graphs import neighbour_lists
from ...compiled.vectors import LANES
from .forest import children_first, separators

MAX_BITS = 62  # of a separator, whose entries are numbered in int64
MAX_OFFSETS = 1 << 17  # of all messages, that are worth storing

# Columns of Schedule.steps; a start is an index of the first item, an end that of the last plus 1.
VARIABLE, BIT_START, BIT_END, READ_START, READ_END, TABLE_OUT, WORD_START, LANE_OUT, ENTRY_START = range(9)
# Columns of Schedule.reads.
TABLE_IN, LANE_IN, ENTRY_IN, OWN_STRIDE, STRIDE_START, OFFSET_START = range(6)


class Schedule(NamedTuple):
    """What the kernels read.

    Attributes:
        steps: `[n, 9]`, by step: the variable eliminated; its range of separator bits; its range of reads;
            where its message goes and the decision words of earlier steps, for max_sum_tables; the same
            with the entries of earlier steps for max_sum_lanes.
        variables: `[bits]`, variable of every separator bit.
        edges: `[bits]`, the edge between that and the step's variable, or -1.
        reads: `[messages, 6]`, by message that a step reads: where it is for either kernel, and where all
            messages are kept; its stride of the step's variable; the starts of the next two.
        strides: in the message, of every separator bit of the step that reads it; 0 where it has none.
        offsets: in the message, of every entry of the step that reads it; empty where these are too many.
    """

    steps: np.ndarray
    variables: np.ndarray
    edges: np.ndarray
    reads: np.ndarray
    strides: np.ndarray
    offsets: np.ndarray


@jit.strict
def make_schedule(n, edges, order):
    """The schedule of the order `[n]`, and entries that live at the same time: in long tables, and in lanes."""
    place = np.empty(n, np.int64)
    for p in range(n):
        place[order[p]] = p
    starts, found, above = separators(n, _placed(edges, place))
    sequence = children_first(starts, above)
    step = np.empty(n, np.int64)
    for t in range(n):
        step[sequence[t]] = t
    parents, sizes = np.empty(n, np.int64), np.empty(n, np.int64)
    for t in range(n):
        v = sequence[t]
        parents[t] = step[above[v]] if above[v] >= 0 else -1
        sizes[t] = np.int64(1) << (starts[v + 1] - starts[v])
    steps = np.zeros((n, 9), np.int64)
    variables = np.empty(len(found), np.int64)
    end = 0
    for t in range(n):
        v = sequence[t]
        steps[t, VARIABLE], steps[t, BIT_START] = order[v], end
        for k in range(starts[v], starts[v + 1]):
            variables[end] = order[found[k]]
            end += 1
        steps[t, BIT_END] = end
    messages, readers = _messages(parents, steps)
    table_arena = _allocate(np.maximum(sizes, LANES), steps, messages, TABLE_OUT)
    lane_arena = _allocate(sizes, steps, messages, LANE_OUT)
    for t in range(1, n):
        steps[t, WORD_START] = steps[t - 1, WORD_START] + max(sizes[t - 1] // LANES, 1)
        steps[t, ENTRY_START] = steps[t - 1, ENTRY_START] + sizes[t - 1]
    reads, strides, offsets = _reads(steps, variables, messages, readers)
    bit_edges = _edges_of_bits(n, edges, steps, variables)
    return Schedule(steps, variables, bit_edges, reads, strides, offsets), table_arena, lane_arena


@jit.strict
def _placed(edges, place):
    placed = np.empty_like(edges)
    for e in range(len(edges)):
        placed[e, 0], placed[e, 1] = place[edges[e, 0]], place[edges[e, 1]]
    return placed


@jit.strict
def _messages(parents, steps):
    """The steps whose messages are read, by reader, and their readers; fills in the ranges of the readers."""
    count = np.zeros(len(parents) + 1, np.int64)
    for t in range(len(parents)):
        if parents[t] >= 0:
            count[parents[t] + 1] += 1
    end = np.cumsum(count)
    messages, readers = np.empty(end[-1], np.int64), np.empty(end[-1], np.int64)
    for t in range(len(parents)):
        steps[t, READ_START], steps[t, READ_END] = end[t], end[t]
    for t in range(len(parents)):
        parent = parents[t]
        if parent >= 0:
            messages[steps[parent, READ_END]], readers[steps[parent, READ_END]] = t, parent
            steps[parent, READ_END] += 1
    return messages, readers


@jit.strict
def _allocate(sizes, steps, messages, column):
    """Places the messages, each free again when it was read; returns the space needed. Sizes are powers of 2."""
    space = 0
    free, after = np.full(64, -1), np.full(len(sizes), -1)  # by the logarithm of the size, latest first
    for t in range(len(sizes)):
        kind = _logarithm(sizes[t])
        if free[kind] >= 0:
            steps[t, column] = steps[free[kind], column]
            free[kind] = after[free[kind]]
        else:
            steps[t, column] = space
            space += sizes[t]
        for r in range(steps[t, READ_START], steps[t, READ_END]):
            c = messages[r]
            kind = _logarithm(sizes[c])
            after[c], free[kind] = free[kind], c
    return space


@jit.strict
def _logarithm(size):
    bits = 0
    while size > 1:
        size >>= 1
        bits += 1
    return bits


@jit.strict
def _reads(steps, variables, messages, readers):
    """`Schedule.reads`, `strides` and `offsets`."""
    reads = np.zeros((len(messages), 6), np.int64)
    bits = entries = 0
    for r in range(len(messages)):
        c, t = messages[r], readers[r]
        reads[r, TABLE_IN], reads[r, LANE_IN] = steps[c, TABLE_OUT], steps[c, LANE_OUT]
        reads[r, ENTRY_IN] = steps[c, ENTRY_START]
        reads[r, OWN_STRIDE] = np.int64(1) << (steps[c, BIT_END] - steps[c, BIT_START] - 1)
        reads[r, STRIDE_START], reads[r, OFFSET_START] = bits, entries
        bits += steps[t, BIT_END] - steps[t, BIT_START]
        entries += np.int64(1) << (steps[t, BIT_END] - steps[t, BIT_START])
    stored = entries <= MAX_OFFSETS
    strides, offsets = np.zeros(bits, np.int64), np.zeros(entries if stored else 0, np.int64)
    for r in range(len(messages)):
        c, t = messages[r], readers[r]
        k, start, size = 0, reads[r, OFFSET_START], 1
        for i in range(steps[t, BIT_END] - steps[t, BIT_START]):
            # Both separators are sorted alike, and the child's has the reader's variable on top.
            if variables[steps[c, BIT_START] + k] == variables[steps[t, BIT_START] + i]:
                strides[reads[r, STRIDE_START] + i] = np.int64(1) << k
                k += 1
            if stored:
                stride = strides[reads[r, STRIDE_START] + i]
                for s in range(start, start + size):
                    offsets[s + size] = offsets[s] + stride
                size *= 2
    if not stored:
        reads[:, OFFSET_START] = 0
    return reads, strides, offsets


@jit.strict
def _edges_of_bits(n, edges, steps, variables):
    """`Schedule.edges`."""
    listed, near, which = neighbour_lists(n, edges)
    found, seen, edge = np.full(len(variables), -1), np.full(n, -1), np.empty(n, np.int64)
    for t in range(n):
        v = steps[t, VARIABLE]
        for k in range(listed[v], listed[v + 1]):
            seen[near[k]], edge[near[k]] = v, which[k]
        for i in range(steps[t, BIT_START], steps[t, BIT_END]):
            if seen[variables[i]] == v:
                found[i] = edge[variables[i]]
    return found
