"""The weights of all 2^n states under p(z) ~ exp(score(z)), block by block.

The weights exp(score) are products of exponentials of the n + e coefficients (`blocks`): no exponential
a state. While the positive coefficients add up to at most STEEP, and the negative ones too, every product
of some of them is far from the ends of float64 and each weight has a relative error of about (n + e) eps.
In a steeper instance scores are added up, and states get exp(score - maximum), unless that vanishes for a
whole block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..arrays import Edges
from ..compiled import jit
from .blocks import BASE, BLOCK, BLOCK_BITS, LINE, aligned, fill_block, fill_fields, fill_root, load
from .exponentials import LOWEST, exponentiate
from .sums import maximum

STEEP = 600.0  # exp(600) * 2^20 < 2^1024, and exp(-600) is a normal number


class Blocks(NamedTuple):
    """Where the blocks of an instance are built: see the module `blocks`.

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


@jit.strict
def new_blocks(depth):
    """Space for the 2^depth blocks of an instance."""
    size = BLOCK_BITS + depth
    fields = np.empty((1 << depth, BASE + 1))
    increment = np.empty(max(BLOCK, 1 << depth))
    weights, maxima = np.empty((size, size)), np.empty(1 << depth)
    return Blocks(weights, aligned(BLOCK), fields, maxima, aligned(LINE), aligned(BLOCK), increment)


@jit.strict
def load_blocks(coefficients, rows, columns, n, product, padding, blocks):
    """Prepares the blocks of an instance's scores, or of their exponentials."""
    load(coefficients, rows, columns, n, product, padding, blocks.weights)
    fill_root(blocks.weights, product, blocks.root, blocks.increment)
    fill_fields(blocks.weights, max(n - BLOCK_BITS, 0), product, blocks.fields, blocks.increment)


@jit.strict
def _is_steep(coefficients):
    gains = losses = 0.0
    for c in coefficients:
        gains += max(c, 0.0)
        losses += max(-c, 0.0)
    return max(gains, losses) > STEEP


@jit.strict
def load_weights(coefficients, rows, columns, n, blocks):
    """Prepares the weights of an instance; returns whether it is steep."""
    steep = _is_steep(coefficients)
    load_blocks(coefficients, rows, columns, n, not steep, -np.inf if steep else 0.0, blocks)
    return steep


@jit.strict
def find_reference(steep, blocks, block):
    """The score of weight 1: that of the likeliest state in a steep instance, whose maxima this fills."""
    if not steep:
        return 0.0
    for h in range(len(blocks.fields)):
        fill_block(blocks.root, blocks.fields[h], False, blocks.line, block)
        blocks.maxima[h] = maximum(block)
    return blocks.maxima.max()


@jit.strict
def fill_weights(blocks, h, steep, reference, block):
    """exp(score - reference) of the states of block h."""
    if not steep:
        fill_block(blocks.root, blocks.fields[h], True, blocks.line, block)
    elif blocks.maxima[h] - reference < LOWEST:
        block[:] = 0.0
    else:
        fill_block(blocks.root, blocks.fields[h], False, blocks.line, block)
        block -= reference
        exponentiate(block, blocks.powers)


def places(n: int, edges: Edges) -> tuple[np.ndarray, np.ndarray]:
    """Row and column of every coefficient in the lower triangle."""
    diagonal = np.arange(n)
    return np.concatenate((diagonal, edges[:, 1])), np.concatenate((diagonal, edges[:, 0]))
