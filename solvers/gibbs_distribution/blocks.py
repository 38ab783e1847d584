"""The states of a small pairwise problem in blocks, each block's scores or weights built by doubling.

The low BLOCK_BITS bits of a state are its place in a block, the others the block's number h. As z_i is 0 or 1,

    score(h, s) = base(h) + sum_{i in s} field_i(h) + score(0, s),

so a block is one table that all share, `root`, and BLOCK_BITS + 1 numbers of its own, `fields[h]`. The same
with products in place of sums, `product=True`, gives exp(score) of all states from the exponentials of the
n + e coefficients. Any block can be built by itself and none inherits the rounding of another.
"""

from __future__ import annotations

import numpy as np

from ..compiled import jit

LINE_BITS = 7  # states of one line: 1 KiB, so that many sums of lines fit the L1 cache
BLOCK_BITS = LINE_BITS + 2  # a block is four lines
LINE = 1 << LINE_BITS
BLOCK = 1 << BLOCK_BITS
CORNER_BITS = 3  # 8 states: one vector of float64
CORNER = 1 << CORNER_BITS
BASE = BLOCK_BITS  # column of the base, behind those of the fields
VECTOR = 8  # float64 in a cache line


@jit.strict
def aligned(size):
    """An array that starts with a cache line, as vectors that straddle two are slow."""
    space = np.empty(size + VECTOR)
    start = -(space.ctypes.data >> 3) & (VECTOR - 1)
    return space[start : start + size]


@jit.strict
def join(first, second, product):
    """What two parts of a state have together."""
    return first * second if product else first + second


@jit.strict
def load(coefficients, rows, columns, n, product, padding, weights):
    """Fills the lower triangle; bits of a block beyond n get `padding` as their unary score or weight."""
    weights[:] = 1.0 if product else 0.0
    for i in range(n, BLOCK_BITS):
        weights[i, i] = padding
    for c in range(len(coefficients)):
        weights[rows[c], columns[c]] = np.exp(coefficients[c]) if product else coefficients[c]


@jit.strict
def _fill_linear(table, bits, constant, row, product):
    """What a variable with this constant and row of weights adds to each state of `bits` others."""
    table[0] = constant
    for i in range(bits):
        for s in range(1 << i):
            table[(1 << i) + s] = join(table[s], row[i], product)


@jit.strict
def fill_root(weights, product, root, increment):
    """Block 0."""
    root[0] = 1.0 if product else 0.0
    for i in range(BLOCK_BITS):
        _fill_linear(increment, i, weights[i, i], weights[i], product)
        for s in range(1 << i):
            root[(1 << i) + s] = join(root[s], increment[s], product)


@jit.strict
def fill_fields(weights, depth, product, fields, increment):
    """The fields and the base of each of the 2^depth blocks."""
    fields[0] = 1.0 if product else 0.0
    for t in range(depth):
        row, size = weights[BLOCK_BITS + t], 1 << t
        _fill_linear(increment, t, row[BLOCK_BITS + t], row[BLOCK_BITS:], product)
        for h in range(size):
            for i in range(BLOCK_BITS):
                fields[size + h, i] = join(fields[h, i], row[i], product)
            fields[size + h, BASE] = join(fields[h, BASE], increment[h], product)


@jit.strict
def _fill_line(own, product, line):
    """What the base and the fields of the lowest bits come to in each state of these."""
    for s in range(CORNER):
        corner = own[BASE]
        for i in range(CORNER_BITS):
            corner = join(corner, own[i], product) if s >> i & 1 else corner
        line[s] = corner
    for i in range(CORNER_BITS, LINE_BITS):
        lower, upper = line[: 1 << i], line[1 << i : 2 << i]
        for s in range(1 << i):
            upper[s] = join(lower[s], own[i], product)


@jit.strict
def fill_block(root, own, product, line, block):
    """The block whose fields and base are `own`; `line` is for use inside."""
    _fill_line(own, product, line)
    first, second = own[LINE_BITS], own[LINE_BITS + 1]
    both = join(first, second, product)
    for s in range(LINE):
        block[s] = join(line[s], root[s], product)
        block[LINE + s] = join(join(line[s], first, product), root[LINE + s], product)
        block[2 * LINE + s] = join(join(line[s], second, product), root[2 * LINE + s], product)
        block[3 * LINE + s] = join(join(line[s], both, product), root[3 * LINE + s], product)
