"""The semidefinite relaxation with triangle inequalities, by an augmented Lagrangian over factors of low rank.

With s_i = 2 z_i - 1 and s_0 = 1 the score is constant + sum_(i<j) C_ij s_i s_j. The relaxation has unit vectors v_i for
the s_i, and of X_ij = v_i.v_j it asks triangle inequalities 1 + a X_ij + b X_ik + c X_jk >= 0, abc = 1, which every s
satisfies. A quasi-Newton method moves the vectors, then the multipliers mu of the inequalities are updated; what is
found is W = C + sum_t mu_t (signs of t), and nothing that would have to be believed.

References:
    Burer, Monteiro, 2003, A nonlinear programming algorithm for solving semidefinite programs via low-rank
    factorization. Nocedal, 1980, Updating quasi-Newton matrices with limited storage.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ...compiled import jit

MEMORY = 8  # pairs of the quasi-Newton method
ITERATIONS = 10  # of it, between two updates of the multipliers
TOLERANCE = 3e-3  # of gradients, in units of the scale
PENALTY = 1.0  # in units of the scale
SIGNS: np.ndarray = np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])


class Triangles(NamedTuple):
    """Inequalities, with room for more."""

    size: np.ndarray  # [1]
    nodes: np.ndarray  # [room, 4] i > j > k and the row of SIGNS for X_ij, X_ik, X_jk
    multipliers: np.ndarray  # [room]


class Workspace(NamedTuple):
    """Memory of the kernels, for m nodes and vectors of r numbers."""

    points: np.ndarray  # [r, m] multiples of the vectors
    vectors: np.ndarray  # [r, m]
    gram: np.ndarray  # [m, m] X
    weights: np.ndarray  # [m, m] W
    field: np.ndarray  # [r, m]
    lines: np.ndarray  # [4, m]: norms, d, and scratch
    updated: np.ndarray  # [room] multipliers after the next update
    moves: np.ndarray  # [MEMORY, r, m]
    changes: np.ndarray  # [MEMORY, r, m]
    curvatures: np.ndarray  # [2, MEMORY]
    slopes: np.ndarray  # [4, r, m]
    factor: np.ndarray  # [m + 1, m + 1]
    known: np.ndarray  # [m (m - 1) (m - 2) / 6] uint8: which of the four are there
    found: np.ndarray  # [candidates, 4]
    slacks: np.ndarray  # [candidates]


def new_workspace(m: int, rank: int, room: int) -> Workspace:
    """Memory for m nodes, the constant one among them."""
    candidates = 4 * room + 2 * m
    return Workspace(
        points=np.zeros((rank, m)),
        vectors=np.zeros((rank, m)),
        gram=np.zeros((m, m)),
        weights=np.zeros((m, m)),
        field=np.zeros((rank, m)),
        lines=np.zeros((4, m)),
        updated=np.zeros(room),
        moves=np.zeros((MEMORY, rank, m)),
        changes=np.zeros((MEMORY, rank, m)),
        curvatures=np.zeros((2, MEMORY)),
        slopes=np.zeros((4, rank, m)),
        factor=np.zeros((m + 1, m + 1)),
        known=np.zeros(max(1, m * (m - 1) * (m - 2) // 6), np.uint8),
        found=np.zeros((candidates, 4), np.int64),
        slacks=np.zeros(candidates),
    )


@jit.reordered_inner
def _normalise(points, vectors, norms, m):
    """The vectors are the points, made as long as 1."""
    norms[:m] = 0.0
    for r in range(len(points)):
        line = points[r]
        for i in range(m):
            norms[i] += line[i] * line[i]
    for i in range(m):
        norms[i] = math.sqrt(norms[i])
    for r in range(len(points)):
        line, out = points[r], vectors[r]
        for i in range(m):
            out[i] = line[i] / norms[i]


@jit.reordered_inner
def _inner_products(vectors, gram, m):
    for i in range(m):
        row = gram[i]
        row[:i] = 0.0
        for r in range(0, len(vectors), 4):
            one, two, three, four = vectors[r], vectors[r + 1], vectors[r + 2], vectors[r + 3]
            a, b, c, d = one[i], two[i], three[i], four[i]
            for j in range(i):
                row[j] += a * one[j] + b * two[j] + c * three[j] + d * four[j]


@jit.reordered_inner
def _apply(weights, vectors, field, m):
    for r in range(0, len(vectors), 4):
        one, two, three, four = vectors[r], vectors[r + 1], vectors[r + 2], vectors[r + 3]
        for i in range(m):
            row = weights[i]
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for j in range(m):
                w = row[j]
                a += w * one[j]
                b += w * two[j]
                c += w * three[j]
                d += w * four[j]
            field[r, i], field[r + 1, i], field[r + 2, i], field[r + 3, i] = a, b, c, d


@jit.reordered_inner
def _weigh(couplings, triangles, penalty, space, m):
    """Updates the multipliers and W at X; returns what the inequalities take off the augmented Lagrangian."""
    gram, weights, taken = space.gram, space.weights, 0.0
    for i in range(m):
        for j in range(i):
            weights[i, j] = couplings[i, j]
    for t in range(triangles.size[0]):
        i, j, k, kind = triangles.nodes[t]
        a, b, c = SIGNS[kind, 0], SIGNS[kind, 1], SIGNS[kind, 2]
        before = triangles.multipliers[t]
        after = max(0.0, before - penalty * (1.0 + a * gram[i, j] + b * gram[i, k] + c * gram[j, k]))
        space.updated[t] = after
        taken += after * after - before * before
        weights[i, j] += a * after
        weights[i, k] += b * after
        weights[j, k] += c * after
    for i in range(m):
        weights[i, i] = 0.0
        for j in range(i):
            weights[j, i] = weights[i, j]
    return taken / (2.0 * penalty)


@jit.reordered_inner
def _lagrangian(points, gradient, couplings, triangles, penalty, space, m):
    """The negative augmented Lagrangian, and its gradient by the points."""
    norms, dots = space.lines[0], space.lines[2]
    vectors, field = space.vectors, space.field
    _normalise(points, vectors, norms, m)
    _inner_products(vectors, space.gram, m)
    value = _weigh(couplings, triangles, penalty, space, m)
    for i in range(m):
        for j in range(i):
            value -= couplings[i, j] * space.gram[i, j]
    _apply(space.weights, vectors, field, m)
    dots[:m] = 0.0
    for r in range(len(points)):
        for i in range(m):
            dots[i] += field[r, i] * vectors[r, i]
    for r in range(len(points)):
        for i in range(m):
            gradient[r, i] = (dots[i] * vectors[r, i] - field[r, i]) / norms[i]
    return value


@jit.reordered_inner
def _dot(a, b, m):
    total = 0.0
    for r in range(len(a)):
        for i in range(m):
            total += a[r, i] * b[r, i]
    return total


@jit.reordered_inner
def _add(target, factor, line, m):
    for r in range(len(target)):
        for i in range(m):
            target[r, i] += factor * line[r, i]


@jit.reordered_inner
def _copy(target, line, m):
    for r in range(len(target)):
        for i in range(m):
            target[r, i] = line[r, i]


@jit.reordered_inner
def _direction(gradient, direction, pairs, space, m):
    """The gradient times an estimate of the inverse Hessian, from the last moves."""
    inverse, along = space.curvatures
    _copy(direction, gradient, m)
    kept = min(pairs, MEMORY)
    for a in range(kept):
        p = (pairs - 1 - a) % MEMORY
        along[p] = inverse[p] * _dot(space.moves[p], direction, m)
        _add(direction, -along[p], space.changes[p], m)
    if kept:
        p = (pairs - 1) % MEMORY
        scale = 1.0 / (inverse[p] * _dot(space.changes[p], space.changes[p], m))
    else:
        scale = 0.3 / math.sqrt(_dot(gradient, gradient, m))
    for r in range(len(direction)):
        for i in range(m):
            direction[r, i] *= scale
    for a in range(kept - 1, -1, -1):
        p = (pairs - 1 - a) % MEMORY
        _add(direction, along[p] - inverse[p] * _dot(space.changes[p], direction, m), space.moves[p], m)


@jit.reordered_inner
def ascend(couplings, triangles, scale, space, m):
    """Moves the points by a quasi-Newton method; `space` is left at the last ones that were tried."""
    points, penalty, tolerance = space.points, PENALTY * scale, TOLERANCE * scale
    gradient, direction, trial, trial_gradient = space.slopes
    _copy(trial, points, m)
    _normalise(trial, points, space.lines[0], m)
    value = _lagrangian(points, gradient, couplings, triangles, penalty, space, m)
    pairs = 0
    for _ in range(ITERATIONS):
        if _dot(gradient, gradient, m) <= tolerance * tolerance:
            break
        _direction(gradient, direction, pairs, space, m)
        slope = -_dot(gradient, direction, m)
        if not slope < 0.0:
            pairs = 0
            _direction(gradient, direction, pairs, space, m)
            slope = -_dot(gradient, direction, m)
        step, trial_value = 1.0, np.inf
        for _ in range(12):
            _copy(trial, points, m)
            _add(trial, -step, direction, m)
            trial_value = _lagrangian(trial, trial_gradient, couplings, triangles, penalty, space, m)
            if trial_value <= value + 1e-4 * step * slope:
                break
            step *= 0.4
        if not trial_value < value:
            break
        p = pairs % MEMORY
        _copy(space.moves[p], trial, m)
        _add(space.moves[p], -1.0, points, m)
        _copy(space.changes[p], trial_gradient, m)
        _add(space.changes[p], -1.0, gradient, m)
        curvature = _dot(space.moves[p], space.changes[p], m)
        if curvature > 0.0:
            space.curvatures[0, p] = 1.0 / curvature
            pairs += 1
        _copy(points, trial, m)
        _copy(gradient, trial_gradient, m)
        value = trial_value
