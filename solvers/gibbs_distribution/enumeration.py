"""Log-partition function and marginals of p(z) ~ exp(score(z)) over all 2^n states.

One pass over the blocks of weights (`weights`) gives the sums of all states, and of those that have a bit or two
(`sums`). It keeps running sums, from which samples are drawn (`draws`).
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np

from ..arrays import Edges, Pairwise, Scores, Unary
from ..compiled import jit
from ..compiled.threads import over_slices
from .blocks import BLOCK, BLOCK_BITS, LINE_BITS, aligned
from .sums import add_block, fill_moments, new_sums
from .weights import fill_weights, find_reference, load_weights, new_blocks, places

MAX_VARIABLES = 20
"""Sums of 2^20 weights, each of exp(STEEP) at most, do not overflow; an instance takes half a millisecond."""

NANOSECONDS = 0.5  # a state


class RunningSums(NamedTuple):
    """The weights exp(score - reference) of all states, added up block by block.

    Attributes:
        coefficients: `[batch, n + e]`, unary and pairwise scores.
        references: `[batch]`, the score of weight 1.
        blocks: `[batch, 2^depth]`, of the weights up to the end of each block.
        weights: `[batch, 2^depth]`, of each block by itself, which differences of the above have no digits of.
    """

    coefficients: np.ndarray
    references: Scores
    blocks: np.ndarray
    weights: np.ndarray


@jit.strict
def _infer(rows, columns, n, coefficients, references, cumulative, weights, log_z, marginals):
    depth = max(n - BLOCK_BITS, 0)
    blocks, sums, block = new_blocks(depth), new_sums(depth), aligned(BLOCK)
    moments = np.empty_like(blocks.weights)
    for b in range(len(log_z)):
        steep = load_weights(coefficients[b], rows, columns, n, blocks)
        references[b] = find_reference(steep, blocks, block)
        sums.halves[:] = 0.0
        for h in range(1 << depth):
            fill_weights(blocks, h, steep, references[b], block)
            add_block(block, h, depth, sums)
        total = 0.0
        for line in range(len(sums.lines)):
            h = line >> BLOCK_BITS - LINE_BITS
            total += sums.lines[line]
            cumulative[b, h] = total  # at last that of the block
            weights[b, h] += sums.lines[line]
        log_z[b] = references[b] + math.log(total)
        fill_moments(sums, depth, moments)
        for c in range(len(rows)):
            marginals[b, c] = min(moments[rows[c], columns[c]] / total, 1.0)


def infer(
    unary: Unary, pairwise: Pairwise, edges: Edges, threads: int | None = None
) -> tuple[Scores, np.ndarray, RunningSums]:
    """The log-partition `[batch]`, the marginals `[batch, n + e]`, and what `draw` takes.

    Args:
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite.
        edges: `[e, 2]`, distinct pairs i < j.
        threads: most threads to use; None for all cores.
    """
    batch, n = unary.shape
    coefficients = np.concatenate((unary, pairwise), axis=1, dtype=np.float64)
    blocks = (batch, 1 << max(n - BLOCK_BITS, 0))
    sums = RunningSums(coefficients, np.empty(batch), np.empty(blocks), np.zeros(blocks))
    log_z, marginals = np.empty(batch), np.empty_like(coefficients)
    work = NANOSECONDS * (2**n + 2**13)
    kernel = partial(_infer, *places(n, edges), n)
    over_slices(kernel, *sums, log_z, marginals, nanoseconds=work, threads=threads)
    return log_z, marginals, sums
