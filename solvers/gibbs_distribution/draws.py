"""Samples of p(z) ~ exp(score(z)) over all 2^n states, from running sums of the weights that a pass has left.

A uniform number chooses a block of states by the running sums of all blocks. That block alone is built again,
to choose a line of it, and a state in the line.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Edges
from ..compiled import jit
from ..compiled.threads import over_slices
from .blocks import BLOCK, BLOCK_BITS, LINE, LINE_BITS, aligned
from .enumeration import RunningSums
from .sums import add_block, new_sums
from .weights import fill_weights, load_weights, new_blocks, places

BELOW_ONE = 1.0 - 2.0**-52  # times x it is less than x
LOAD_NANOSECONDS, DRAW_NANOSECONDS = 2_000.0, 250.0  # an instance, a sample


@jit.strict
def _first_above(cumulative, target):
    low, high = 0, len(cumulative) - 1
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + 1
    return low


@jit.strict
def _state_at(blocks, steep, reference, cumulative, target, sums, block):
    """The first state up to which, itself included, the weights add up to more than the target."""
    h = _first_above(cumulative, target)
    fill_weights(blocks, h, steep, reference, block)
    add_block(block, 0, 0, sums)
    before = running = cumulative[h - 1] if h else 0.0
    start = 0
    for line in range(len(sums.lines)):
        if sums.lines[line] > 0.0:  # where rounding leaves the target above the block, its last line is meant
            start, before = line << LINE_BITS, running
            running += sums.lines[line]
            if running > target:
                break
    state, running = start, before
    for s in range(start, start + LINE):
        running += block[s]
        if block[s] > 0.0:  # and above the line, its last state
            state = s
            if running > target:
                break
    return h << BLOCK_BITS | state


@jit.strict
def _draw(rows, columns, n, coefficients, references, cumulative, uniforms, z):
    blocks, sums, block = new_blocks(max(n - BLOCK_BITS, 0)), new_sums(0), aligned(BLOCK)
    blocks.maxima[:] = np.inf  # not known, nor needed: a block that vanishes is not chosen
    for b in range(len(z)):
        steep = load_weights(coefficients[b], rows, columns, n, blocks)
        sums.halves[:] = 0.0
        for k in range(uniforms.shape[1]):
            target = min(uniforms[b, k], BELOW_ONE) * cumulative[b, -1]
            state = _state_at(blocks, steep, references[b], cumulative[b], target, sums, block)
            for i in range(n):
                z[b, k, i] = state >> i & 1


def draw(
    sums: RunningSums, n: int, edges: Edges, uniforms: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Samples `[batch, samples, n]`, int8.

    Args:
        sums: of the instances.
        n: number of variables.
        edges: `[e, 2]`, distinct pairs i < j.
        uniforms: `[batch, samples]` in [0, 1).
        threads: most threads to use; None for all cores.
    """
    z = np.empty((*uniforms.shape, n), np.int8)
    instances = (sums.coefficients, sums.references, sums.blocks)
    arrays = (*instances, np.require(uniforms, np.float64, ["C", "W"]), z)
    work = LOAD_NANOSECONDS + DRAW_NANOSECONDS * uniforms.shape[1]
    if uniforms.size:  # else instances would be loaded for nothing
        over_slices(partial(_draw, *places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return z
