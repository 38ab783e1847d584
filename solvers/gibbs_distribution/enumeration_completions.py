"""Samples over all 2^n states variable by variable, with one the other way and those drawn after it redrawn.

Variables are drawn from n - 1 down to 0. The states that agree with those drawn are a run in the order of
sum_i z_i 2^i: a node of a binary tree over the blocks, or over the states of one block, with the sum of their weights.
The derivative of P(z_v = 1 | drawn before) is a difference of two means of statistics, over the runs with z_v = 1 and
with z_v = 0. One pass over all weights, each times what its runs come to, gives those of all v.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Edges, States
from ..compiled import jit
from ..compiled.threads import over_slices
from .blocks import BLOCK, BLOCK_BITS, aligned
from .draws import DRAW_NANOSECONDS, LOAD_NANOSECONDS
from .enumeration import NANOSECONDS, RunningSums
from .sums import add_block, fill_moments, new_sums
from .weights import fill_weights, find_reference, load_weights, new_blocks, places

SAMPLE_NANOSECONDS = 2500.0
"""Of the derivative: the weights of the sample's block, and what its runs come to."""

VANISHING = 1e-200
"""A run of so small a sum is met by no sample, and what is divided by it may overflow."""


@jit.strict
def _fill_tree(leaves, tree):
    """The sum below each node: node k has the children 2k and 2k + 1, and the root is 1."""
    size = len(leaves)
    tree[size:] = leaves
    for node in range(size - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@jit.strict
def _share(tree, node):
    """The probability of a one; 0 below a node that has none."""
    return tree[2 * node + 1] / tree[node] if tree[node] > 0.0 else 0.0


@jit.strict
def _descend(tree, node, first, bits, uniforms):
    """The leaf below a node that the uniforms of the variables `first`, ..., `first + bits - 1` lead to."""
    for i in range(first + bits - 1, first - 1, -1):
        node = 2 * node + (uniforms[i] < _share(tree, node))
    return node


@jit.strict
def _write(state, z):
    for i in range(len(z)):
        z[i] = state >> i & 1


@jit.strict
def _complete(rows, columns, n, coefficients, references, weights, uniforms, chosen, z, completed):
    depth, low = max(n - BLOCK_BITS, 0), min(n, BLOCK_BITS)
    blocks, block = new_blocks(depth), aligned(BLOCK)
    top, own, other = np.empty(2 << depth), np.empty(2 * BLOCK), np.empty(2 * BLOCK)
    root = 1 << BLOCK_BITS - low  # bits of a block beyond n are zeros
    blocks.maxima[:] = np.inf  # not known, nor needed: a block that vanishes is not chosen
    for b in range(len(z)):
        steep = load_weights(coefficients[b], rows, columns, n, blocks)
        _fill_tree(weights[b], top)
        for k in range(uniforms.shape[1]):
            u = uniforms[b, k]
            above = _descend(top, 1, BLOCK_BITS, depth, u)
            h = above - (1 << depth)
            fill_weights(blocks, h, steep, references[b], block)
            _fill_tree(block, own)
            leaf = _descend(own, root, 0, low, u)
            _write(h << BLOCK_BITS | leaf - BLOCK, z[b, k])
            for c in range(chosen.shape[2]):
                v = chosen[b, k, c]
                if v < BLOCK_BITS:
                    moved = _descend(own, leaf >> v ^ 1, 0, v, u)
                    _write(h << BLOCK_BITS | moved - BLOCK, completed[b, k, c])
                else:
                    place = v - BLOCK_BITS
                    there = _descend(top, above >> place ^ 1, BLOCK_BITS, place, u) - (1 << depth)
                    fill_weights(blocks, there, steep, references[b], block)
                    _fill_tree(block, other)
                    moved = _descend(other, root, 0, low, u)
                    _write(there << BLOCK_BITS | moved - BLOCK, completed[b, k, c])


@jit.strict
def _add_rates(tree, node, first, bits, slopes, z, rate, rates):
    """Adds to each leaf what its weight counts for in the derivative; returns what is left for the leaf of z.

    The mean over the run with z_v = 1 has the factor slope p (1 - p) over the sum of that run, which is
    slope (1 - p) over the sum of both.
    """
    leaves = len(rates)
    for i in range(first + bits - 1, first - 1, -1):
        share, span, bit = _share(tree, node), 1 << (i - first), np.int64(z[i])
        scale = slopes[i] / tree[node] if tree[node] > VANISHING else 0.0
        one, zero = scale * (1.0 - share), -scale * share
        start = ((2 * node + 1 - bit) << (i - first)) - leaves
        for s in range(start, start + span):
            rates[s] += rate + (zero if bit else one)
        rate += one if bit else zero
        node = 2 * node + bit
    return rate


@jit.strict
def _derive(rows, columns, n, coefficients, references, weights, z, chosen, changes, products):
    depth, low, samples = max(n - BLOCK_BITS, 0), min(n, BLOCK_BITS), chosen.shape[1]
    blocks, sums, block, tree = new_blocks(depth), new_sums(depth), aligned(BLOCK), np.empty(2 * BLOCK)
    moments, slopes, top = np.empty_like(blocks.weights), np.empty(n), np.empty(2 << depth)
    rates, own_rates, factors = np.empty(1 << depth), np.empty((samples, BLOCK)), np.empty(BLOCK)
    homes = np.empty(samples, np.int64)
    for b in range(len(z)):
        steep = load_weights(coefficients[b], rows, columns, n, blocks)
        if steep:
            find_reference(steep, blocks, block)
        _fill_tree(weights[b], top)
        rates[:], own_rates[:], sums.halves[:] = 0.0, 0.0, 0.0
        for k in range(samples):
            slopes[:] = 0.0
            for c in range(chosen.shape[2]):
                slopes[chosen[b, k, c]] += changes[b, k, c]
            homes[k] = 0
            for i in range(BLOCK_BITS, n):
                homes[k] |= np.int64(z[b, k, i]) << (i - BLOCK_BITS)
            rate = _add_rates(top, 1, BLOCK_BITS, depth, slopes, z[b, k], 0.0, rates)
            fill_weights(blocks, homes[k], steep, references[b], block)
            _fill_tree(block, tree)
            rate = _add_rates(tree, 1 << BLOCK_BITS - low, 0, low, slopes, z[b, k], rate, own_rates[k])
            leaf = 0
            for i in range(low):
                leaf |= np.int64(z[b, k, i]) << i
            own_rates[k, leaf] += rate
        for h in range(1 << depth):
            fill_weights(blocks, h, steep, references[b], block)
            factors[:] = rates[h]
            for k in range(samples):
                if homes[k] == h:
                    factors += own_rates[k]
            for s in range(BLOCK):
                block[s] *= factors[s]
            add_block(block, h, depth, sums)
        fill_moments(sums, depth, moments)
        for c in range(len(rows)):
            products[b, c] = moments[rows[c], columns[c]]


def complete(
    sums: RunningSums,
    n: int,
    edges: Edges,
    uniforms: np.ndarray,
    chosen: np.ndarray,
    threads: int | None = None,
) -> tuple[States, States]:
    """Samples `[batch, samples, n]`, and `[batch, samples, m, n]`: the completions of the other values.

    Args:
        sums: of the instances.
        n: number of variables.
        edges: `[e, 2]`, distinct pairs i < j.
        uniforms: `[batch, samples, n]` in [0, 1), one a variable.
        chosen: `[batch, samples, m]`, variables.
        threads: most threads to use; None for all cores.
    """
    z, completed = np.empty(uniforms.shape, np.int8), np.empty((*chosen.shape, n), np.int8)
    instances = (sums.coefficients, sums.references, sums.weights)
    arrays = (*instances, np.require(uniforms, np.float64, ["C", "W"]), chosen, z, completed)
    work = LOAD_NANOSECONDS + 4 * DRAW_NANOSECONDS * chosen[0].size
    over_slices(partial(_complete, *places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return z, completed


def derivative(
    sums: RunningSums,
    n: int,
    edges: Edges,
    z: States,
    chosen: np.ndarray,
    changes: np.ndarray,
    threads: int | None = None,
) -> np.ndarray:
    """`[batch, n + e]`: that of the sum of changes * P(z_v = 1 | drawn before) over samples and chosen v.

    Args:
        sums: of the instances.
        n: number of variables.
        edges: `[e, 2]`, distinct pairs i < j.
        z: `[batch, samples, n]`, the samples.
        chosen: `[batch, samples, m]`, variables.
        changes: `[batch, samples, m]`, finite.
        threads: most threads to use; None for all cores.
    """
    products = np.empty_like(sums.coefficients)
    arrays = (sums.coefficients, sums.references, sums.weights, z, chosen, changes, products)
    work = 2 * NANOSECONDS * (2**n + 2**13) + SAMPLE_NANOSECONDS * chosen.shape[1]
    over_slices(partial(_derive, *places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return products
