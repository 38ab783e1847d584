"""Samples over all 2^n states variable by variable, with one the other way and those drawn after it redrawn.

Variables are drawn from n - 1 down to 0. The states that agree with those drawn are a run in the order of
sum_i z_i 2^i: a node of a binary tree over the blocks, or over the states of one block, with the sum of their weights.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Edges, States
from ..compiled import jit
from ..compiled.threads import over_slices
from .blocks import BLOCK, BLOCK_BITS, aligned
from .draws import DRAW_NANOSECONDS, LOAD_NANOSECONDS
from .enumeration import RunningSums
from .weights import fill_weights, load_weights, new_blocks, places


@jit.strict
def fill_tree(leaves, tree):
    """The sum below each node: node k has the children 2k and 2k + 1, and the root is 1."""
    size = len(leaves)
    tree[size:] = leaves
    for node in range(size - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]


@jit.strict
def share(tree, node):
    """The probability of a one; 0 below a node that has none."""
    return tree[2 * node + 1] / tree[node] if tree[node] > 0.0 else 0.0


@jit.strict
def _descend(tree, node, first, bits, uniforms):
    """The leaf below a node that the uniforms of the variables `first`, ..., `first + bits - 1` lead to."""
    for i in range(first + bits - 1, first - 1, -1):
        node = 2 * node + (uniforms[i] < share(tree, node))
    return node


@jit.strict
def _write(state, z):
    for i in range(len(z)):
        z[i] = state >> i & 1


@jit.strict
def _complete(
    rows, columns, n, coefficients, references, weights, uniforms, chosen, z, completed, conditionals
):
    depth, low = max(n - BLOCK_BITS, 0), min(n, BLOCK_BITS)
    blocks, block = new_blocks(depth), aligned(BLOCK)
    top, own, other = np.empty(2 << depth), np.empty(2 * BLOCK), np.empty(2 * BLOCK)
    root = 1 << BLOCK_BITS - low  # bits of a block beyond n are zeros
    blocks.maxima[:] = np.inf  # not known, nor needed: a block that vanishes is not chosen
    for b in range(len(z)):
        steep = load_weights(coefficients[b], rows, columns, n, blocks)
        fill_tree(weights[b], top)
        for k in range(uniforms.shape[1]):
            u = uniforms[b, k]
            above = _descend(top, 1, BLOCK_BITS, depth, u)
            h = above - (1 << depth)
            fill_weights(blocks, h, steep, references[b], block)
            fill_tree(block, own)
            leaf = _descend(own, root, 0, low, u)
            _write(h << BLOCK_BITS | leaf - BLOCK, z[b, k])
            for c in range(chosen.shape[2]):
                v = chosen[b, k, c]
                if v < BLOCK_BITS:
                    conditionals[b, k, c] = share(own, leaf >> v + 1)
                    moved = _descend(own, leaf >> v ^ 1, 0, v, u)
                    _write(h << BLOCK_BITS | moved - BLOCK, completed[b, k, c])
                else:
                    place = v - BLOCK_BITS
                    conditionals[b, k, c] = share(top, above >> place + 1)
                    there = _descend(top, above >> place ^ 1, BLOCK_BITS, place, u) - (1 << depth)
                    fill_weights(blocks, there, steep, references[b], block)
                    fill_tree(block, other)
                    moved = _descend(other, root, 0, low, u)
                    _write(there << BLOCK_BITS | moved - BLOCK, completed[b, k, c])


def complete(
    sums: RunningSums,
    n: int,
    edges: Edges,
    uniforms: np.ndarray,
    chosen: np.ndarray,
    threads: int | None = None,
) -> tuple[States, States, np.ndarray]:
    """Samples `[batch, samples, n]`, their completions `[batch, samples, m, n]`, and P(z_v = 1 | drawn before) of each.

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
    conditionals = np.empty(chosen.shape)
    arrays = (*instances, np.require(uniforms, np.float64, ["C", "W"]), chosen, z, completed, conditionals)
    work = LOAD_NANOSECONDS + 4 * DRAW_NANOSECONDS * chosen[0].size
    over_slices(partial(_complete, *places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return z, completed, conditionals
