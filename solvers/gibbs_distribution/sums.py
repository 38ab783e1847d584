"""Sums of a table over all states, over those with one bit, and over those with two, block by block.

A table over 2^n states comes in blocks (`blocks`) of four lines, in order. Sums over the states that
have a bit above a line's come by halves: a run of 2^t blocks with an odd number is added to the sum of its
bit t before it joins the even run in front of it. That is two vector additions a block, for all bits
together, and what is left to do at the end are sums of single lines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import jit
from ..compiled.bits import lowest_bit
from .blocks import BLOCK_BITS, LINE, LINE_BITS, aligned


class Sums(NamedTuple):
    """The sums of 2^depth blocks.

    Attributes:
        lines: `[2^(depth + 2)]`, of every line.
        halves: `[depth + 2, LINE]`, of the lines whose number has a bit.
        runs: `[depth + 3, LINE]`, of the latest even run of 2^t blocks, in the end of all in row `depth`;
            and two rows to work with.
    """

    lines: np.ndarray
    halves: np.ndarray
    runs: np.ndarray


@jit.strict
def new_sums(depth):
    """Space for the sums of 2^depth blocks."""
    halves, runs = aligned((depth + 2) * LINE), aligned((depth + 3) * LINE)
    return Sums(np.empty(4 << depth), halves.reshape(-1, LINE), runs.reshape(-1, LINE))


@jit.reduction
def maximum(table):
    """The largest entry."""
    best = table[0]
    for s in range(len(table)):
        best = max(best, table[s])
    return best


@jit.reduction
def _add_lines(block, first_half, second_half, out, totals):
    """Adds up the four lines of a block, and what has either of their two bits."""
    total_0 = total_1 = total_2 = total_3 = 0.0
    for s in range(LINE):
        x_0, x_1, x_2, x_3 = block[s], block[LINE + s], block[2 * LINE + s], block[3 * LINE + s]
        first_half[s] += x_1 + x_3
        second_half[s] += x_2 + x_3
        out[s] = x_0 + x_1 + x_2 + x_3
        total_0 += x_0
        total_1 += x_1
        total_2 += x_2
        total_3 += x_3
    totals[0], totals[1], totals[2], totals[3] = total_0, total_1, total_2, total_3


@jit.strict
def _join_runs(half, odd, even, out):
    """Adds the sum of an odd run to that of its bit, and joins it with the even run before."""
    for s in range(LINE):
        half[s] += odd[s]
        out[s] = odd[s] + even[s]


@jit.strict
def add_block(block, h, depth, sums):
    """Adds block h, after those before it."""
    halves, runs = sums.halves, sums.runs
    level = lowest_bit(~h)  # of the runs that end with this block the longest is of 2^level
    row = depth + 1 if level else 0
    _add_lines(block, halves[0], halves[1], runs[row], sums.lines[4 * h :])
    for t in range(level):
        out = level if t + 1 == level else 2 * depth + 3 - row
        _join_runs(halves[t + 2], runs[row], runs[t], runs[out])
        row = out


@jit.reduction
def _first_moments(table, bits, moments):
    """Sums of the entries that have a bit, for each bit; leaves the sum of all in `table[0]`."""
    for i in range(bits - 1, -1, -1):
        total, size = 0.0, 1 << i
        lower, upper = table[:size], table[size : 2 * size]
        for s in range(size):
            total += upper[s]
            lower[s] += upper[s]
        moments[i] = total


@jit.strict
def _second_moments(table, bits, start, moments):
    """Sums of the entries that have two bits, on the diagonal of those that have one; overwrites `table`."""
    for t in range(bits - 1, -1, -1):
        lower, upper = table[: 1 << t], table[1 << t : 2 << t]
        for s in range(1 << t):
            lower[s] += upper[s]
        _first_moments(upper, t, moments[start + t, start:])
        moments[start + t, start + t] = upper[0]


@jit.strict
def fill_moments(sums, depth, moments):
    """Sums over the states that have two bits, in the lower triangle; overwrites the sums."""
    _second_moments(sums.runs[depth], LINE_BITS, 0, moments)
    _second_moments(sums.lines, depth + BLOCK_BITS - LINE_BITS, LINE_BITS, moments)
    for t in range(depth + BLOCK_BITS - LINE_BITS):
        _first_moments(sums.halves[t], LINE_BITS, moments[LINE_BITS + t])
