"""A diagonal d that makes a dense pairwise problem concave at the least cost to its bound.

On binary z the score equals f(z) = 1/2 z'(W - diag d)z + (u + d/2)'z for every d, and f is concave once
diag d - W is positive semidefinite. The best such d is dual to the semidefinite relaxation: with unit vectors
v_i for 2 z_i - 1 and e for the constant, that relaxation maximises sum_ij W_ij v_i.v_j / 2 + sum_i t_i v_i.e,
t = 2 u + W 1, and at its optimum d_i = |sum_j W_ij v_j + t_i e|. The mixing method maximises over one v_i after
the other. What it leaves undone is repaired by a shift of d that a Cholesky factorisation certifies.

References:
    Wang, Chang, Kolter, 2017, The mixing method: low-rank coordinate descent for semidefinite programming with
    diagonal constraints. Billionnet, Elloumi, 2007, Using a mixed integer quadratic programming solver for the
    unconstrained quadratic 0-1 problem. Rump, 2006, Verification of positive definiteness.
"""

from __future__ import annotations

import math

import numpy as np

from ...compiled import jit

RANK = 12
ROUNDOFF = 2.0**-53


@jit.reordered_inner
def _mix_one(i, row, linear, vectors, field, m):
    """Moves v_i to its best place; returns the length of its field and the squared distance moved."""
    square = 0.0
    for k in range(RANK):
        line = vectors[k]
        total = 0.0
        for j in range(m):
            total += row[j] * line[j]
        field[k] = total
    field[0] += linear
    for k in range(RANK):
        square += field[k] * field[k]
    length = math.sqrt(square)
    moved = 0.0
    if length > 0.0:
        for k in range(RANK):
            value = field[k] / length
            moved += (value - vectors[k, i]) ** 2
            vectors[k, i] = value
    return length, moved


@jit.reordered_inner
def mix(unary, pairwise, m, vectors, lengths, scratch, sweeps, tolerance, stop):
    """Coordinate ascent on the vectors; `lengths` becomes d.

    Args:
        unary: `[n]`, of which the first m count.
        pairwise: `[n, n]`, of which the first m rows and columns count.
        m: see there.
        vectors: `[RANK, n]`, unit columns; e is the first unit vector.
        lengths: `[n]`, output.
        scratch: `[n, n]`.
        sweeps: at most so many.
        tolerance: stop once the mean squared move of a sweep is below.
        stop: `[1]` uint8; the sweeps end once it is set.
    """
    linear, field = scratch[0], np.empty(RANK)
    for i in range(m):
        total = 2.0 * unary[i]
        for j in range(m):
            total += pairwise[i, j]
        linear[i] = total
    for _ in range(sweeps):
        moved = 0.0
        for i in range(m):
            lengths[i], move = _mix_one(i, pairwise[i], linear[i], vectors, field, m)
            moved += move
        if moved < tolerance * m or stop[0]:
            break


@jit.reordered_inner
def cholesky(pairwise, diagonal, shift, m, factor):
    """Factors diag(diagonal + shift) - W; returns how many pivots were positive."""
    for i in range(m):
        row = factor[i]
        for j in range(i):
            other = factor[j]
            total = -pairwise[i, j]
            for k in range(j):
                total -= row[k] * other[k]
            row[j] = total * other[m]
        total = diagonal[i] + shift
        for k in range(i):
            total -= row[k] * row[k]
        if not total > 0.0:
            return i
        row[i] = math.sqrt(total)
        row[m] = 1.0 / row[i]
    return m


@jit.reordered_inner
def _back_substitute(factor, x, m):
    """Solves L' y = x in place."""
    for i in range(m - 1, -1, -1):
        x[i] *= factor[i, m]
        value, row = x[i], factor[i]
        for k in range(i):
            x[k] -= row[k] * value


@jit.reordered_inner
def _smallest_eigenvalue(factor, x, m, rounds):
    """An estimate from above, by inverse iteration with the factor."""
    estimate = 0.0
    for _ in range(rounds):
        before = 0.0
        for i in range(m):
            before += x[i] * x[i]
        for i in range(m):
            row = factor[i]
            total = x[i]
            for k in range(i):
                total -= row[k] * x[k]
            x[i] = total / row[i]
        middle = 0.0
        for i in range(m):
            middle += x[i] * x[i]
        # With x = A y: y'A y / y'y is the Rayleigh quotient, and y'A y = |L^-1 x|^2.
        _back_substitute(factor, x, m)
        after = 0.0
        for i in range(m):
            after += x[i] * x[i]
        estimate = middle / after
        scale = 1.0 / math.sqrt(after)
        for i in range(m):
            x[i] *= scale
    return estimate


@jit.reordered_inner
def concave_diagonal(pairwise, m, diagonal, factor, x, rounds):
    """Shifts `diagonal` so that diag(diagonal) - W is certainly positive semidefinite; False if it cannot.

    A Cholesky factorisation of A - s I that runs through in floating point proves A positive semidefinite if
    s >= (m + 2) * roundoff * trace(A), up to higher orders (Rump 2006); twice this is taken off here.

    Args:
        pairwise: `[n, n]`, of which the first m rows and columns count.
        m: see there.
        diagonal: `[n]`, in and out.
        factor: `[n + 1, n + 1]` scratch.
        x: `[n]` scratch.
        rounds: attempts to lower a shift that was enough.
    """
    trace = 0.0
    for i in range(m):
        trace += diagonal[i]
        x[i] = 1.0 if i & 1 else -1.0
    if not trace > 0.0:
        return False
    mean = trace / m
    shift, enough = 0.003 * mean, -1.0
    for _ in range(60):
        if cholesky(pairwise, diagonal, shift, m, factor) == m:
            enough = shift
            break
        shift *= 3.0
    if enough < 0.0:
        return False
    for _ in range(rounds):
        smallest = _smallest_eigenvalue(factor, x, m, 3)
        lowered = False
        for fraction in (0.96, 0.8, 0.5):
            shift = enough - fraction * smallest
            if not lowered and cholesky(pairwise, diagonal, shift, m, factor) == m:
                enough, lowered = shift, True
        if not lowered or smallest < 1e-3 * mean:
            break
    margin = 2.0 * (m + 2) * ROUNDOFF * (trace + m * abs(enough))
    for i in range(m):
        diagonal[i] += enough + margin
    return True
