"""All 2^n states of small pairwise problems, scored in integers.

The N = n + e coefficients of an instance are rounded to 64-bit fixed point (`fine`) and again to their
upper 32 bits (`coarse`). Integer sums do not round, so scores do not drift, and a vector register adds
and compares 16 of them at once. All states are scored in int32, in blocks of 2^BLOCK_BITS; a block that
may hold the maximiser is scored again in int64.

Why the answer is exact, with c the coefficients and S = sum |c|:

*   fine = rint(c * 2^k) for a k such that N * max |c| * 2^k lies in (2^60, 2^62], so no sum overflows.
    The rounding of two states differs by at most N / 2 units of 2^-k, and 2^-k < N * max |c| * 2^-60, so
    no state exceeds the answer by more than N^2 * 2^-61 * S < N * 2^-52 * S, as N <= 325 < 2^9.
*   A state of coarse score m has a fine score of at most m * 2^32 + slack, slack = sum |fine - coarse *
    2^32|. A block whose maximum m does not lift this above the best fine score known is skipped. Coarse
    sums stay below 2^31.
*   Subnormal c are multiples of 2^-1074 and 2^k is at least that large; products c * 2^k that underflow
    are far below one unit.

The low bits of a state index a table, the inner bits are maximised without leaving the registers, and
the other bits are walked: a state of the walk is its parent and one more bit.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ...arrays import Edges, Pairwise, States, Unary
from ...compiled import jit
from ...compiled.threads import over_slices
from ...topology import Topology

MAX_VARIABLES = 25
CORNER_BITS = 4  # 16 states: one vector of int32
LOW_BITS = 7  # states of one table; the tables of n = 25 still fit the L1 cache
INNER_BITS = 3  # maximised without leaving the registers
BLOCK_BITS = LOW_BITS + INNER_BITS
CORNER_STATES = 1 << CORNER_BITS
LOW_STATES = 1 << LOW_BITS
INNER_STATES = 1 << INNER_BITS
BLOCK_STATES = 1 << BLOCK_BITS
HALF_UNIT = 1 << 31
NANOSECONDS = 0.03  # a state
POWER_RANGE = 600
POWERS = 2.0 ** np.arange(-POWER_RANGE, POWER_RANGE)

# LOW_MASKS[i, s] has all bits set where state s contains bit i.
LOW_MASKS = -(np.arange(LOW_STATES) >> np.arange(LOW_BITS)[:, None] & 1).astype(np.int32)


@jit.strict
def _load(coefficients, positions, scaled, fine, coarse):
    """Fills both weight matrices and returns the slack between them."""
    magnitude = np.int64(0)
    for bits in coefficients.view(np.int64):
        magnitude = max(magnitude, bits & 0x7FFFFFFFFFFFFFFF)
    count_exponent = math.frexp(np.float64(len(coefficients)))[1]
    k = 62 - count_exponent - ((magnitude >> 52) - 1022)
    # 2**k may overflow, its two factors do not.
    first, second = POWERS[k // 2 + POWER_RANGE], POWERS[k - k // 2 + POWER_RANGE]
    slack = np.int64(0)
    for c in range(len(coefficients)):
        x = np.int64(np.rint(coefficients[c] * first * second))
        scaled[c] = x
        slack += abs(x - (x + HALF_UNIT >> 32 << 32))
    for c in range(len(coefficients)):
        fine[positions[c]] = scaled[c]
        coarse[positions[c]] = scaled[c] + HALF_UNIT >> 32
    return slack


@jit.strict
def _fill_corner(table, base, fields, weights):
    for s in range(CORNER_STATES):
        score = base
        for i in range(CORNER_BITS):
            field = fields[i]
            for j in range(i):
                field += weights[i, j] & -(s >> j & 1)
            score += field & -(s >> i & 1)
        table[s] = score


@jit.strict
def _fill_linear(table, bits, constant, weights, row):
    w_0, w_1, w_2, w_3 = weights[row, 0], weights[row, 1], weights[row, 2], weights[row, 3]
    for s in range(CORNER_STATES):
        low = constant + (w_0 & -(s & 1)) + (w_1 & -(s >> 1 & 1))
        table[s] = low + (w_2 & -(s >> 2 & 1)) + (w_3 & -(s >> 3 & 1))
    for i in range(CORNER_BITS, bits):
        lower, upper = table[: 1 << i], table[1 << i : 2 << i]
        weight = weights[row, i]
        for s in range(1 << i):
            upper[s] = lower[s] + weight


@jit.strict
def _fill_low_linear(linear, weights, n):
    for j in range(LOW_BITS, n):
        for s in range(LOW_STATES):
            total = weights[j, j]
            for i in range(LOW_BITS):
                total += weights[j, i] & LOW_MASKS[i, s]
            linear[j - LOW_BITS, s] = total


@jit.strict
def _fill_quadratic(table, bits, base, fields, weights, increment):
    """Scores of the 2**bits states whose bits have these fields and weights."""
    _fill_corner(table, base, fields, weights)
    for i in range(CORNER_BITS, bits):
        _fill_linear(increment, i, fields[i], weights, i)
        lower, upper = table[: 1 << i], table[1 << i : 2 << i]
        for s in range(1 << i):
            upper[s] = lower[s] + increment[s]


@jit.strict
def _add_bit(values, parent, linear, constant):
    for s in range(LOW_STATES):
        values[s] = parent[s] + linear[s] + constant


@jit.strict
def _fill_inner(inner, linear, weights):
    """inner[q] is what the inner bits of q add to the score of a low state."""
    for b in range(INNER_BITS):
        row = weights[LOW_BITS + b]
        for q in range(1 << b):
            cross = np.int32(0)
            for i in range(b):
                cross += row[LOW_BITS + i] & -(q >> i & 1)
            _add_bit(inner[(1 << b) + q], inner[q], linear[b], np.int32(cross))


@jit.strict
def _fill_walk_terms(shifts, constants, weights, lowest):
    """Couplings of every walk state h to the inner bits and to its lowest bit."""
    for t in range(lowest[0]):
        row, size = BLOCK_BITS + t, 1 << t
        for b in range(INNER_BITS):
            for q in range(1 << b):
                shifts[size, (1 << b) + q] = shifts[size, q] + weights[row, LOW_BITS + b]
        for h in range(1, size):
            constants[size + h] = constants[h] + weights[row, BLOCK_BITS + lowest[h]]
            for q in range(INNER_STATES):
                shifts[size + h, q] = shifts[h, q] + shifts[size, q]


@jit.strict
def _pair_maxima(values, linear, constant, inner, shifts_0, shifts_1):
    """Block maxima of two walk states that differ in walk bit 0 only."""
    best_0 = best_1 = np.int32(-(2**31))
    for s in range(LOW_STATES):
        gain_0 = gain_1 = np.int32(0)
        for q in range(1, INNER_STATES):
            # int32 + int32 is int64 in numba; the cast keeps 16 lanes a vector.
            gain_0 = max(gain_0, np.int32(inner[q, s] + shifts_0[q]))
            gain_1 = max(gain_1, np.int32(inner[q, s] + shifts_1[q]))
        best_0 = max(best_0, np.int32(values[s] + gain_0))
        best_1 = max(best_1, np.int32(values[s] + linear[s] + gain_1))
    return best_0, best_1 + constant


@jit.strict
def _walk(values, linear, inner, shifts, constants, lowest, maxima):
    """Block maxima of all walk states.

    Walk state h extends h without its lowest bit t. Counting upwards, that
    parent is the latest state with its own lowest bit, so one table per lowest
    bit suffices and, unlike in a Gray code, nothing has to be taken off again.
    """
    for h in range(0, len(maxima), 2):
        t = lowest[h]
        if h:
            parent = values[lowest[h & (h - 1)]]
            _add_bit(values[t], parent, linear[INNER_BITS + t], constants[h])
        maxima[h], maxima[h + 1] = _pair_maxima(
            values[t], linear[INNER_BITS], constants[h + 1], inner, shifts[h], shifts[h + 1]
        )


@jit.strict
def _coarse_scratch(depth):
    values = np.empty((depth + 1, LOW_STATES), np.int32)
    linear = np.empty((depth + INNER_BITS, LOW_STATES), np.int32)
    inner = np.zeros((INNER_STATES, LOW_STATES), np.int32)
    shifts = np.zeros((1 << depth, INNER_STATES), np.int32)
    constants = np.zeros(1 << depth, np.int32)
    lowest = np.full(1 << depth, depth, np.uint8)  # set bit of h; `depth` for h = 0
    for t in range(depth):
        lowest[1 << t :: 2 << t] = t
    return values, linear, inner, shifts, constants, lowest


@jit.strict
def _fill_coarse_maxima(weights, n, scratch, fields, increment, maxima):
    values, linear, inner, shifts, constants, lowest = scratch
    for i in range(LOW_BITS):
        fields[i] = weights[i, i]
    _fill_quadratic(values[-1], LOW_BITS, np.int32(0), fields, weights, increment)
    _fill_low_linear(linear, weights, n)
    _fill_inner(inner, linear, weights)
    _fill_walk_terms(shifts, constants, weights, lowest)
    _walk(values, linear, inner, shifts, constants, lowest, maxima)


@jit.strict
def _fine_maximum(weights, n, h, fields, table, increment):
    """Best score among the states of block h, and the first state that has it."""
    bits = min(max(n, CORNER_BITS), BLOCK_BITS)
    base = np.int64(0)
    for i in range(bits):
        fields[i] = weights[i, i]
    for t in range(BLOCK_BITS, n):
        mask = -(h >> (t - BLOCK_BITS) & 1)
        base += weights[t, t] & mask
        for i in range(BLOCK_BITS, t):
            base += weights[t, i] & mask & -(h >> (i - BLOCK_BITS) & 1)
        for i in range(bits):
            fields[i] += weights[t, i] & mask
    _fill_quadratic(table, bits, base, fields, weights, increment)
    best = table[0]
    for s in range(1 << bits):
        best = max(best, table[s])
    index = BLOCK_STATES
    for s in range(1 << bits):  # a reduction without exit vectorises
        index = min(index, s if table[s] == best else BLOCK_STATES)
    return best, h << BLOCK_BITS | index


@jit.strict
def _solve(positions, n, coefficients, z):
    """Maximises each row of `coefficients`; `positions` are their entries in the weight matrix."""
    depth = max(n - BLOCK_BITS, 0)
    scaled = np.empty(len(positions), np.int64)
    fine = np.zeros((MAX_VARIABLES, MAX_VARIABLES), np.int64)
    coarse = np.zeros((MAX_VARIABLES, MAX_VARIABLES), np.int32)
    fine_flat, coarse_flat = fine.ravel(), coarse.ravel()
    fine_scratch = (
        np.empty(BLOCK_BITS, np.int64),
        np.empty(BLOCK_STATES, np.int64),
        np.empty(BLOCK_STATES, np.int64),
    )
    scratch = _coarse_scratch(depth)
    fields, increment = np.empty(LOW_BITS, np.int32), np.empty(LOW_STATES, np.int32)
    maxima = np.zeros(1 << depth, np.int32)
    for b in range(len(z)):
        slack = _load(coefficients[b], positions, scaled, fine_flat, coarse_flat)
        if depth:
            _fill_coarse_maxima(coarse, n, scratch, fields, increment, maxima)
        peak = np.argmax(maxima)
        best, state = _fine_maximum(fine, n, peak, *fine_scratch)
        for h in range(1 << depth):
            if (np.int64(maxima[h]) << 32) + slack > best and h != peak:
                score, rival = _fine_maximum(fine, n, h, *fine_scratch)
                if score > best:
                    best, state = score, rival
        for i in range(n):
            z[b, i] = state >> i & 1


def host_argmax(unary: Unary, pairwise: Pairwise, topology: Topology, threads: int | None = None) -> States:
    """The maximisers `[batch, n]`, n <= 25.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        topology: the pairs.
        threads: most threads to use; None for all cores.
    """
    batch, n = unary.shape
    z = np.empty((batch, n), np.int8)
    coefficients = np.concatenate((unary, pairwise), axis=1, dtype=np.float64)
    kernel = partial(_solve, topology.recall(_positions), n)
    over_slices(kernel, coefficients, z, nanoseconds=NANOSECONDS * (2**n + 2**15), threads=threads)
    return z


def _positions(n: int, edges: Edges) -> np.ndarray:
    """`[n + e]`: where the coefficients stand in the flattened matrix of weights."""
    diagonal = np.arange(n)
    rows, columns = np.concatenate((np.stack((diagonal, diagonal)), edges.T[::-1]), axis=1)
    # Unsigned indices spare numba's test for negative ones.
    positions: np.ndarray = (rows * MAX_VARIABLES + columns).astype(np.uint64)
    return positions
