"""Log-partition function, marginals, samples and covariances of p(z) ~ exp(score(z)) over all 2^n states.

The weights exp(score) are products of exponentials of the n + e coefficients (`state_blocks`): no exponential
a state. While the positive coefficients add up to at most STEEP, and the negative ones too, every product
of some of them is far from the ends of float64 and each weight has a relative error of about (n + e) eps.
In a steeper instance scores are added up, and states get exp(score - maximum), unless that vanishes for a
whole block.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from .arrays import Edges, Pairwise, Scores, Unary
from .block_sums import add_block, fill_moments, maximum, new_sums, sum_of
from .exponentials import exponentiate
from .state_blocks import (
    BASE,
    BLOCK,
    BLOCK_BITS,
    LINE,
    LINE_BITS,
    aligned,
    fill_block,
    fill_fields,
    fill_root,
    load,
)
from .threads import over_slices

STEEP = 600.0  # exp(600) * 2^20 < 2^1024, and exp(-600) is a normal number
VANISHES = -700.0  # exp of it is a normal number; those below would be slow, and count for nothing
BELOW_ONE = 1.0 - 2.0**-52  # times x it is less than x
NANOSECONDS, DRAW_NANOSECONDS = 0.5, 250.0  # a state, a sample

_jit = njit(cache=True, nogil=True, error_model="numpy")


class _Blocks(NamedTuple):
    """Where the blocks of an instance are built: see `state_blocks`.

    Attributes:
        weights: `[n, n]`, n at least BLOCK_BITS.
        root: `[BLOCK]`.
        fields: `[2^depth, BLOCK_BITS + 1]`.
        maxima: `[2^depth]`, of the scores of each block; steep instances only.
        line: `[LINE]`, for use inside.
        powers: `[BLOCK]`, for use inside.
        increment: for use inside.
    """

    weights: np.ndarray
    root: np.ndarray
    fields: np.ndarray
    maxima: np.ndarray
    line: np.ndarray
    powers: np.ndarray
    increment: np.ndarray


@_jit
def _new_blocks(depth):
    size = BLOCK_BITS + depth
    fields = np.empty((1 << depth, BASE + 1))
    increment = np.empty(max(BLOCK, 1 << depth))
    weights, maxima = np.empty((size, size)), np.empty(1 << depth)
    return _Blocks(weights, aligned(BLOCK), fields, maxima, aligned(LINE), aligned(BLOCK), increment)


@_jit
def _load_blocks(coefficients, rows, columns, n, product, padding, blocks):
    load(coefficients, rows, columns, n, product, padding, blocks.weights)
    fill_root(blocks.weights, product, blocks.root, blocks.increment)
    fill_fields(blocks.weights, max(n - BLOCK_BITS, 0), product, blocks.fields, blocks.increment)


@_jit
def _is_steep(coefficients):
    gains = losses = 0.0
    for c in coefficients:
        gains += max(c, 0.0)
        losses += max(-c, 0.0)
    return max(gains, losses) > STEEP


@_jit
def _load_distribution(coefficients, rows, columns, n, blocks, block):
    """Prepares the weights of an instance; returns whether it is steep, and the score of weight 1."""
    steep = _is_steep(coefficients)
    _load_blocks(coefficients, rows, columns, n, not steep, -np.inf if steep else 0.0, blocks)
    if not steep:
        return steep, 0.0
    for h in range(len(blocks.fields)):
        fill_block(blocks.root, blocks.fields[h], False, blocks.line, block)
        blocks.maxima[h] = maximum(block)
    return steep, blocks.maxima.max()


@_jit
def _fill_weights(blocks, h, steep, reference, block):
    """exp(score - reference) of the states of block h."""
    if not steep:
        fill_block(blocks.root, blocks.fields[h], True, blocks.line, block)
    elif blocks.maxima[h] - reference < VANISHES:
        block[:] = 0.0
    else:
        fill_block(blocks.root, blocks.fields[h], False, blocks.line, block)
        block -= reference
        exponentiate(block, VANISHES, blocks.powers)


@_jit
def _first_above(cumulative, target):
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@_jit
def _state_at(blocks, steep, reference, cumulative, target, block):
    """The first state up to which, itself included, the weights add up to more than the target."""
    line = _first_above(cumulative, target)
    _fill_weights(blocks, line >> BLOCK_BITS - LINE_BITS, steep, reference, block)
    start = (line << LINE_BITS) % BLOCK
    running = cumulative[line - 1] if line else 0.0
    state = 0
    for s in range(LINE):
        running += block[start + s]
        if block[start + s] > 0.0:  # where rounding leaves the target above the line, its last state is meant
            state = s
            if running > target:
                break
    return line << LINE_BITS | state


@_jit
def _infer(rows, columns, n, coefficients, uniforms, log_z, marginals, z):
    depth = max(n - BLOCK_BITS, 0)
    blocks, sums, block = _new_blocks(depth), new_sums(depth), aligned(BLOCK)
    cumulative, moments = np.empty_like(sums.lines), np.empty_like(blocks.weights)
    for b in range(len(log_z)):
        steep, reference = _load_distribution(coefficients[b], rows, columns, n, blocks, block)
        sums.halves[:] = 0.0
        for h in range(1 << depth):
            _fill_weights(blocks, h, steep, reference, block)
            add_block(block, h, depth, sums)
        total = 0.0
        for line in range(len(cumulative)):
            total += sums.lines[line]
            cumulative[line] = total
        log_z[b] = reference + math.log(total)
        for k in range(uniforms.shape[1]):
            target = min(uniforms[b, k], BELOW_ONE) * total
            state = _state_at(blocks, steep, reference, cumulative, target, block)
            for i in range(n):
                z[b, k, i] = state >> i & 1
        fill_moments(sums, depth, moments)
        for c in range(len(rows)):
            marginals[b, c] = min(moments[rows[c], columns[c]] / total, 1.0)


@_jit
def _covary(rows, columns, n, coefficients, directions, means, products):
    depth = max(n - BLOCK_BITS, 0)
    blocks, tilt, sums = _new_blocks(depth), _new_blocks(depth), new_sums(depth)
    block, statistic, moments = aligned(BLOCK), aligned(BLOCK), np.empty_like(blocks.weights)
    for b in range(len(products)):
        steep, reference = _load_distribution(coefficients[b], rows, columns, n, blocks, block)
        _load_blocks(directions[b], rows, columns, n, False, 0.0, tilt)
        tilt.root[:] -= means[b]  # before the sums, so that a large mean cancels nothing
        sums.halves[:] = 0.0
        total = 0.0
        for h in range(1 << depth):
            _fill_weights(blocks, h, steep, reference, block)
            total += sum_of(block)
            fill_block(tilt.root, tilt.fields[h], False, tilt.line, statistic)
            for s in range(BLOCK):
                statistic[s] *= block[s]
            add_block(statistic, h, depth, sums)
        fill_moments(sums, depth, moments)
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
    arrays = (coefficients, np.require(uniforms, np.float64, ["C", "W"]), log_z, marginals, z)
    work = NANOSECONDS * (2**n + 2**13) + DRAW_NANOSECONDS * uniforms.shape[1]
    over_slices(partial(_infer, *_places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return log_z, marginals, z


def covariance_product(
    unary: Unary,
    pairwise: Pairwise,
    edges: Edges,
    direction: np.ndarray,
    means: Scores,
    threads: int | None = None,
) -> np.ndarray:
    """Cov(phi, phi . direction) `[batch, n + e]`, with phi the z_i and the z_i z_j of the edges.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        edges: `[e, 2]`, distinct pairs i < j.
        direction: `[batch, n + e]`, finite, and small enough that its sums times exp(STEEP) do not overflow.
        means: `[batch]`, of phi . direction.
        threads: most threads to use; None for all cores.
    """
    n = unary.shape[1]
    coefficients = np.concatenate((unary, pairwise), axis=1, dtype=np.float64)
    products = np.empty_like(coefficients)
    arrays = (coefficients, np.require(direction, np.float64, ["C", "W"]), means, products)
    work = 2 * NANOSECONDS * (2**n + 2**13)
    over_slices(partial(_covary, *_places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return products


def _places(n: int, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every coefficient in the lower triangle."""
    diagonal = np.arange(n)
    return np.concatenate((diagonal, edges[:, 1])), np.concatenate((diagonal, edges[:, 0]))
