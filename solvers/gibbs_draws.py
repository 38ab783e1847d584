"""Samples of p(z) ~ exp(score(z)) over all 2^n states, from running sums of the weights that a pass has left.

A uniform number chooses a line by the running sums of all lines, and a state within it: of the states only
those of its block are built again.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

from .arrays import Edges, Scores
from .gibbs_weights import fill_weights, load_weights, new_blocks, places
from .state_blocks import BLOCK, BLOCK_BITS, LINE, LINE_BITS, aligned
from .threads import over_slices

BELOW_ONE = 1.0 - 2.0**-52  # times x it is less than x
LOAD_NANOSECONDS, DRAW_NANOSECONDS = 2_000.0, 250.0  # an instance, a sample

_jit = njit(cache=True, nogil=True, error_model="numpy")


class RunningSums(NamedTuple):
    """What enumeration leaves for drawing.

    Attributes:
        coefficients: `[batch, n + e]`, unary and pairwise scores.
        references: `[batch]`, the score of weight 1.
        lines: `[batch, 2^n / LINE]`, the running sum of the weights up to the end of each line.
    """

    coefficients: np.ndarray
    references: Scores
    lines: np.ndarray


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
    line = _first_above(cumulative, target)  # its weight is positive, so its block does not vanish
    fill_weights(blocks, line >> BLOCK_BITS - LINE_BITS, steep, reference, block)
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
def _draw(rows, columns, n, coefficients, references, lines, uniforms, z):
    blocks, block = new_blocks(max(n - BLOCK_BITS, 0)), aligned(BLOCK)
    for b in range(len(z)):
        steep = load_weights(coefficients[b], rows, columns, n, blocks)
        for k in range(uniforms.shape[1]):
            target = min(uniforms[b, k], BELOW_ONE) * lines[b, -1]
            state = _state_at(blocks, steep, references[b], lines[b], target, block)
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
    arrays = (*sums, np.require(uniforms, np.float64, ["C", "W"]), z)
    work = LOAD_NANOSECONDS + DRAW_NANOSECONDS * uniforms.shape[1]
    if uniforms.size:  # else instances would be loaded for nothing
        over_slices(partial(_draw, *places(n, edges), n), *arrays, nanoseconds=work, threads=threads)
    return z
