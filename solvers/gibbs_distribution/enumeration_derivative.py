"""Derivatives over all 2^n states: of the marginals along a direction, and of conditionals of samples.

That of the marginals is Cov(phi, phi . direction), with phi the z_i and the z_i z_j of the edges: the mean of phi
times what phi . direction has beyond its own mean. That of P(z_v = 1 | drawn before) is a difference of two means of
phi, over the runs of states (`enumeration_completions`) with z_v = 1 and with z_v = 0. All are sums of phi times the
weight and a factor of the state, so one pass over all weights gives their sum.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Edges, Scores
from ..compiled import jit
from ..compiled.threads import over_slices
from .blocks import BASE, BLOCK, BLOCK_BITS, aligned, fill_block
from .enumeration import NANOSECONDS, RunningSums
from .enumeration_completions import fill_tree, share
from .samples import Drawn
from .sums import add_block, fill_moments, new_sums
from .weights import fill_weights, find_reference, load_blocks, load_weights, new_blocks, places

SAMPLE_NANOSECONDS = 2500.0
"""The weights of a sample's block, and what its runs come to."""

VANISHING = 1e-200
"""A run of so small a sum counts for nothing, as what is divided by it may overflow; hardly any sample meets one."""


@jit.strict
def _add_rates(tree, node, first, bits, slopes, z, rate, rates):
    """Adds to each leaf what its weight counts for in the derivative; returns what is left for the leaf of z.

    The mean over the run with z_v = 1 has the factor slope p (1 - p) over the sum of that run, which is
    slope (1 - p) over the sum of both.
    """
    leaves = len(rates)
    for i in range(first + bits - 1, first - 1, -1):
        p, span, bit = share(tree, node), 1 << (i - first), np.int64(z[i])
        scale = slopes[i] / tree[node] if tree[node] > VANISHING else 0.0
        one, zero = scale * (1.0 - p), -scale * p
        start = ((2 * node + 1 - bit) << (i - first)) - leaves
        for s in range(start, start + span):
            rates[s] += rate + (zero if bit else one)
        rate += one if bit else zero
        node = 2 * node + bit
    return rate


@jit.strict
def _fill_rates(blocks, n, steep, reference, top, slopes, z, tree, block, rates, own_rates):
    """Adds what the weights of each block count for, and fills that of the states of z's block; returns its number."""
    depth, low = max(n - BLOCK_BITS, 0), min(n, BLOCK_BITS)
    home = leaf = 0
    for i in range(BLOCK_BITS, n):
        home |= np.int64(z[i]) << (i - BLOCK_BITS)
    for i in range(low):
        leaf |= np.int64(z[i]) << i
    rate = _add_rates(top, 1, BLOCK_BITS, depth, slopes, z, 0.0, rates)
    fill_weights(blocks, home, steep, reference, block)
    fill_tree(block, tree)
    own_rates[:] = 0.0
    own_rates[leaf] = _add_rates(tree, 1 << BLOCK_BITS - low, 0, low, slopes, z, rate, own_rates)
    return home


@jit.strict
def _derive(
    rows,
    columns,
    n,
    coefficients,
    references,
    weights,
    totals,
    z,
    chosen,
    changes,
    directions,
    means,
    products,
):
    depth, samples = max(n - BLOCK_BITS, 0), chosen.shape[1]
    blocks, tilt, sums = new_blocks(depth), new_blocks(depth), new_sums(depth)
    block, factors, tree = aligned(BLOCK), aligned(BLOCK), np.empty(2 * BLOCK)
    moments, slopes, top = np.empty_like(blocks.weights), np.empty(n), np.empty(2 << depth)
    rates, own_rates, homes = np.empty(1 << depth), np.empty((samples, BLOCK)), np.empty(samples, np.int64)
    for b in range(len(products)):
        steep = load_weights(coefficients[b], rows, columns, n, blocks)
        if steep:
            find_reference(steep, blocks, block)
        rates[:], sums.halves[:] = 0.0, 0.0
        if samples:
            fill_tree(weights[b], top)
        for k in range(samples):
            slopes[:] = 0.0
            for c in range(chosen.shape[2]):
                slopes[chosen[b, k, c]] += changes[b, k, c]
            homes[k] = _fill_rates(
                blocks, n, steep, references[b], top, slopes, z[b, k], tree, block, rates, own_rates[k]
            )
        load_blocks(directions[b] / totals[b], rows, columns, n, False, 0.0, tilt)
        tilt.root[:] -= means[b] / totals[b]  # before the sums, so that a large mean cancels nothing
        for h in range(1 << depth):
            tilt.fields[h, BASE] += rates[h]
            fill_weights(blocks, h, steep, references[b], block)
            fill_block(tilt.root, tilt.fields[h], False, tilt.line, factors)
            for k in range(samples):
                if homes[k] == h:
                    factors += own_rates[k]
            for s in range(BLOCK):
                factors[s] *= block[s]
            add_block(factors, h, depth, sums)
        fill_moments(sums, depth, moments)
        for c in range(len(rows)):
            products[b, c] = moments[rows[c], columns[c]]


def derivative(
    sums: RunningSums,
    edges: Edges,
    drawn: Drawn,
    direction: np.ndarray,
    means: Scores,
    threads: int | None = None,
) -> np.ndarray:
    """`[batch, n + e]`: that of direction . marginals and of the sum of changes * P(z_v = 1 | drawn before).

    Args:
        sums: of the instances.
        edges: `[e, 2]`, distinct pairs i < j.
        drawn: samples, and the changes of their variables, at most 1.
        direction: `[batch, n + e]`, at most 1 in absolute value, so that nothing overflows.
        means: `[batch]`, direction . marginals.
        threads: most threads to use; None for all cores.
    """
    n = drawn.z.shape[-1]
    products, totals = np.empty_like(sums.coefficients), np.ascontiguousarray(sums.blocks[:, -1])
    of_instances = (sums.coefficients, sums.references, sums.weights, totals, drawn.z, drawn.chosen)
    arrays = (*of_instances, drawn.changes, np.require(direction, np.float64, ["C", "W"]), means, products)
    work = 2 * NANOSECONDS * (2**n + 2**13) + SAMPLE_NANOSECONDS * drawn.chosen.shape[1]
    over_slices(partial(_derive, *places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return products
