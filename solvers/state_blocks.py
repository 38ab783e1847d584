"""The states of a small pairwise problem in blocks, each block's scores or weights built by doubling.

The low bits of a state are its place in a block, the others the block's number h. As z_i is 0 or 1,

    score(h, s) = base(h) + sum_{i in s} field_i(h) + score(0, s),

so a block is one table that all share, `root`, and LOW_BITS + 1 numbers of its own, `fields[h]`. The same
with products in place of sums, `product=True`, gives exp(score) of all states from the exponentials of the
n + e coefficients. Any block can be built by itself and none inherits the rounding of another.
"""

from __future__ import annotations

import numpy as np
from numba import njit

LOW_BITS = 7  # states of one table: 1 KiB, so that the sums over blocks still fit the L1 cache
LOW_STATES = 1 << LOW_BITS
CORNER_BITS = 3  # 8 states: one vector of float64
CORNER_STATES = 1 << CORNER_BITS
FIELDS = LOW_BITS + 1  # of the low bits, and the base
BASE = LOW_BITS

_jit = njit(cache=True, nogil=True, error_model="numpy")


@_jit
def join(first, second, product):
    """What two parts of a state have together."""
    return first * second if product else first + second


@_jit
def load(coefficients, rows, columns, n, product, padding, weights):
    """Fills the lower triangle; low bits beyond n get `padding` as their unary score or weight."""
    weights[:] = 1.0 if product else 0.0
    for i in range(n, LOW_BITS):
        weights[i, i] = padding
    for c in range(len(coefficients)):
        weights[rows[c], columns[c]] = np.exp(coefficients[c]) if product else coefficients[c]


@_jit
def _fill_linear(table, bits, constant, row, product):
    """What a variable with this constant and row of weights adds to each state of `bits` others."""
    table[0] = constant
    for i in range(bits):
        for s in range(1 << i):
            table[(1 << i) + s] = join(table[s], row[i], product)


@_jit
def fill_root(weights, constant, product, root, increment):
    """Block 0, with this constant in all states."""
    root[0] = constant
    for i in range(LOW_BITS):
        _fill_linear(increment, i, weights[i, i], weights[i], product)
        for s in range(1 << i):
            root[(1 << i) + s] = join(root[s], increment[s], product)


@_jit
def fill_fields(weights, depth, product, fields, increment):
    """The base and the fields of each of the 2^depth blocks."""
    fields[0] = 1.0 if product else 0.0
    for t in range(depth):
        row, size = weights[LOW_BITS + t], 1 << t
        _fill_linear(increment, t, row[LOW_BITS + t], row[LOW_BITS:], product)
        for h in range(size):
            for i in range(LOW_BITS):
                fields[size + h, i] = join(fields[h, i], row[i], product)
            fields[size + h, BASE] = join(fields[h, BASE], increment[h], product)


@_jit
def fill_block(root, own, product, table):
    """The block whose fields are `own`."""
    for s in range(CORNER_STATES):
        corner = own[BASE]
        for i in range(CORNER_BITS):
            corner = join(corner, own[i], product) if s >> i & 1 else corner
        table[s] = corner
    for i in range(CORNER_BITS, LOW_BITS):
        lower, upper = table[: 1 << i], table[1 << i : 2 << i]
        for s in range(1 << i):
            upper[s] = join(lower[s], own[i], product)
    for s in range(LOW_STATES):
        table[s] = join(table[s], root[s], product)
