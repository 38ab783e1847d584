"""Log-partition function, marginals, samples and covariances of p(z) ~ exp(score(z)) over all 2^n states.

The weights exp(score) are products of exponentials of the n + e coefficients (`state_blocks`): no exponential
a state. While the positive coefficients add up to at most STEEP, and the negative ones too, every product
of some of them is far from the ends of float64 and each weight has a relative error of about n * eps. In a
steeper instance scores are added up, and states get exp(score - maximum), unless that vanishes for a whole
block.

Sums over the states in which a high bit is 1 come by halves: the blocks are walked in order, and a run of
2^t blocks with an odd number is added to the sum of bit t before it joins the even run in front of it. That
is two vector additions a block, for all bits together.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numba import njit

from .arrays import Edges, Pairwise, Scores, Unary
from .bits import lowest_bit
from .state_blocks import FIELDS, LOW_BITS, LOW_STATES, fill_block, fill_fields, fill_root, load
from .threads import over_slices

MAX_VARIABLES = 20
STEEP = 600.0  # exp(600) * 2^20 < 2^1024, and exp(-600) is a normal number
VANISHES = -746.0  # exp of it is 0
NANOSECONDS = 0.4  # a state

_jit = njit(cache=True, nogil=True, error_model="numpy")
_reduce = njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "nnan", "nsz"})


@_reduce
def _total(table):
    total = 0.0
    for s in range(len(table)):
        total += table[s]
    return total


@_reduce
def _maximum(table):
    best = table[0]
    for s in range(len(table)):
        best = max(best, table[s])
    return best


@_jit
def _is_steep(coefficients):
    gains = losses = 0.0
    for c in coefficients:
        gains += max(c, 0.0)
        losses += max(-c, 0.0)
    return max(gains, losses) > STEEP


@_jit
def _space(depth):
    """Weights, root, fields of the blocks and their maxima."""
    size = LOW_BITS + depth
    weights = np.empty((size, size))
    return weights, np.empty(LOW_STATES), np.empty((1 << depth, FIELDS)), np.empty(1 << depth)


@_jit
def _load_space(coefficients, rows, columns, n, space, increment):
    """Prepares the blocks of an instance and returns whether it is steep, and its reference."""
    weights, root, fields, maxima = space
    depth = max(n - LOW_BITS, 0)
    steep = _is_steep(coefficients)
    load(coefficients, rows, columns, n, not steep, -np.inf if steep else 0.0, weights)
    fill_root(weights, 0.0 if steep else 1.0, not steep, root, increment)
    fill_fields(weights, depth, not steep, fields, increment)
    if not steep:
        return steep, 0.0
    for h in range(1 << depth):
        fill_block(root, fields[h], False, increment)
        maxima[h] = _maximum(increment[:LOW_STATES])
    return steep, maxima.max()


@_jit
def _fill_weights(space, h, steep, reference, table):
    """exp(score - reference) of the states of block h."""
    _, root, fields, maxima = space
    if not steep:
        fill_block(root, fields[h], True, table)
    elif maxima[h] - reference < VANISHES:
        table[:] = 0.0
    else:
        fill_block(root, fields[h], False, table)
        for s in range(LOW_STATES):
            table[s] = math.exp(table[s] - reference)


@_jit
def _join_runs(half, odd, even, out):
    """Adds the sum of an odd run of blocks to its bit's, and joins it with the even run before."""
    for s in range(LOW_STATES):
        half[s] += odd[s]
        out[s] = odd[s] + even[s]


@_jit
def _close_runs(level, last, runs, halves):
    """Joins the runs that end with this block; `last` are its weights, overwritten."""
    odd = last
    for t in range(level):
        out = runs[level] if t + 1 == level else last
        _join_runs(halves[t], odd, runs[t], out)
        odd = out


@_jit
def _walk(space, steep, reference, totals, runs, halves, last):
    """Sums of weights: of each block, of those with a high bit, and of all in `runs[-1]`."""
    halves[:] = 0.0
    for h in range(len(totals)):
        level = lowest_bit(~h)
        table = last if level else runs[0]
        _fill_weights(space, h, steep, reference, table)
        totals[h] = _total(table)
        _close_runs(level, last, runs, halves)


@_jit
def _walk_tilted(space, steep, reference, tilt, statistic, totals, runs, halves, last):
    """The same with every weight times the statistic of `tilt`."""
    halves[:] = 0.0
    for h in range(len(totals)):
        level = lowest_bit(~h)
        table = last if level else runs[0]
        _fill_weights(space, h, steep, reference, table)
        fill_block(tilt[1], tilt[2][h], False, statistic)
        for s in range(LOW_STATES):
            table[s] *= statistic[s]
        totals[h] = _total(table)
        _close_runs(level, last, runs, halves)


@_reduce
def _first_moments(table, bits, moments):
    """Sums of the entries that have a bit, for each bit; leaves the sum of all in `table[0]`."""
    for i in range(bits - 1, -1, -1):
        total, size = 0.0, 1 << i
        lower, upper = table[:size], table[size : 2 * size]
        for s in range(size):
            total += upper[s]
            lower[s] += upper[s]
        moments[i] = total


@_jit
def _second_moments(table, bits, start, moments):
    """Sums of the entries that have two bits, and on the diagonal one; overwrites `table`."""
    for t in range(bits - 1, -1, -1):
        lower, upper = table[: 1 << t], table[1 << t : 2 << t]
        for s in range(1 << t):
            lower[s] += upper[s]
        _first_moments(upper, t, moments[start + t, start:])
        moments[start + t, start + t] = upper[0]


@_jit
def _fill_moments(totals, runs, halves, moments):
    """Sums over the states in which a pair of bits is 1, in the lower triangle; overwrites all else."""
    depth = len(halves)
    _second_moments(runs[depth], LOW_BITS, 0, moments)
    _second_moments(totals, depth, LOW_BITS, moments)
    for t in range(depth):
        _first_moments(halves[t], LOW_BITS, moments[LOW_BITS + t])


@_jit
def _first_above(cumulative, target):
    """Index of the first entry above the target; the last one if there is none."""
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@_jit
def _state_at(space, steep, reference, cumulative, target, table):
    """The first state up to which, itself included, the weights add up to more than the target."""
    h = _first_above(cumulative, target)
    _fill_weights(space, h, steep, reference, table)
    running = cumulative[h - 1] if h else 0.0
    state = 0
    for s in range(LOW_STATES):
        running += table[s]
        if table[s] > 0.0:  # where rounding leaves the target above the block, its last state is meant
            state = s
            if running > target:
                break
    return h << LOW_BITS | state


@_jit
def _infer(rows, columns, n, coefficients, uniforms, log_z, marginals, z):
    depth = max(n - LOW_BITS, 0)
    space, increment = _space(depth), np.empty(max(LOW_STATES, 1 << depth))
    totals, runs, halves = (
        np.empty(1 << depth),
        np.empty((depth + 1, LOW_STATES)),
        np.empty((depth, LOW_STATES)),
    )
    table, moments, cumulative = np.empty(LOW_STATES), np.empty_like(space[0]), np.empty(1 << depth)
    for b in range(len(log_z)):
        steep, reference = _load_space(coefficients[b], rows, columns, n, space, increment)
        _walk(space, steep, reference, totals, runs, halves, table)
        running = 0.0
        for h in range(1 << depth):
            running += totals[h]
            cumulative[h] = running
        log_z[b] = reference + math.log(running)
        for k in range(uniforms.shape[1]):
            state = _state_at(space, steep, reference, cumulative, uniforms[b, k] * running, table)
            for i in range(n):
                z[b, k, i] = state >> i & 1
        _fill_moments(totals, runs, halves, moments)
        for c in range(len(rows)):
            marginals[b, c] = min(moments[rows[c], columns[c]] / running, 1.0)


@_jit
def _mean(space, steep, reference, tilt, statistic, table):
    """The sum of all weights, and the mean of the statistic."""
    total = tilted = 0.0
    for h in range(len(tilt[2])):
        _fill_weights(space, h, steep, reference, table)
        total += _total(table)
        fill_block(tilt[1], tilt[2][h], False, statistic)
        for s in range(LOW_STATES):
            statistic[s] *= table[s]
        tilted += _total(statistic)
    return total, tilted / total


@_jit
def _covary(rows, columns, n, coefficients, directions, products):
    depth = max(n - LOW_BITS, 0)
    space, tilt, increment = _space(depth), _space(depth), np.empty(max(LOW_STATES, 1 << depth))
    totals, runs, halves = (
        np.empty(1 << depth),
        np.empty((depth + 1, LOW_STATES)),
        np.empty((depth, LOW_STATES)),
    )
    table, statistic, moments = np.empty(LOW_STATES), np.empty(LOW_STATES), np.empty_like(space[0])
    for b in range(len(products)):
        steep, reference = _load_space(coefficients[b], rows, columns, n, space, increment)
        load(directions[b], rows, columns, n, False, 0.0, tilt[0])
        fill_root(tilt[0], 0.0, False, tilt[1], increment)
        fill_fields(tilt[0], depth, False, tilt[2], increment)
        total, mean = _mean(space, steep, reference, tilt, statistic, table)
        tilt[1][:] -= mean  # before it is summed, so that a large mean cancels nothing
        _walk_tilted(space, steep, reference, tilt, statistic, totals, runs, halves, table)
        _fill_moments(totals, runs, halves, moments)
        for c in range(len(rows)):
            products[b, c] = moments[rows[c], columns[c]] / total


def infer(
    unary: Unary, pairwise: Pairwise, edges: Edges, uniforms: np.ndarray, threads: int | None = None
) -> tuple[Scores, np.ndarray, np.ndarray]:
    """The log-partition `[batch]`, the marginals `[batch, n + e]` and samples `[batch, samples, n]`.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        edges: `[e, 2]`, distinct pairs i < j.
        uniforms: `[batch, samples]` in [0, 1).
        threads: most threads to use; None for all cores.
    """
    batch, n = unary.shape
    coefficients = np.concatenate((unary, pairwise), axis=1, dtype=np.float64)
    log_z, marginals = np.empty(batch), np.empty_like(coefficients)
    z = np.empty((*uniforms.shape, n), np.int8)
    kernel = partial(_infer, *_places(n, edges), n)
    arrays = (coefficients, np.require(uniforms, np.float64, ["C", "W"]), log_z, marginals, z)
    over_slices(kernel, *arrays, nanoseconds=NANOSECONDS * (2**n + 2**13), threads=threads)
    return log_z, marginals, z


def covariance_product(
    unary: Unary, pairwise: Pairwise, edges: Edges, direction: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Cov(phi, phi . direction) `[batch, n + e]`, with phi the z_i and the z_i z_j of the edges.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        edges: `[e, 2]`, distinct pairs i < j.
        direction: `[batch, n + e]`, finite, of sums that exp(STEEP) times them does not overflow.
        threads: most threads to use; None for all cores.
    """
    n = unary.shape[1]
    coefficients = np.concatenate((unary, pairwise), axis=1, dtype=np.float64)
    products = np.empty_like(coefficients)
    kernel = partial(_covary, *_places(n, edges), n)
    arrays = (coefficients, np.require(direction, np.float64, ["C", "W"]), products)
    over_slices(kernel, *arrays, nanoseconds=2 * NANOSECONDS * (2**n + 2**13), threads=threads)
    return products


def _places(n: int, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every coefficient in the lower triangle."""
    diagonal = np.arange(n)
    return np.concatenate((diagonal, edges[:, 1])), np.concatenate((diagonal, edges[:, 0]))
