"""Partial assignments of a dense pairwise problem, bounded by a point of its concave relaxation.

A *level* is a problem of its own, the free variables of some node, with a diagonal d that makes
f(x) = constant + 1/2 x'(W - diag d)x + (u + d/2)'x concave; f is the score where x is binary.

A *node* lives in a slot: a level, the variables of it that are fixed, a point x of the box, the gradient g of f at
x, and f(x). Any y of the box has f(y) <= f(x) + g'(y - x). So f(x) + sum_i max(g_i (1 - x_i), -g_i x_i) over the
free variables bounds the node at any x, and at the other value of one variable the bound is |g_i| lower.
Coordinate ascent improves x. First-order bounds need no x: high_i and low_i are the most and the least that
z_i = 1 can add to the score over all values of the other free variables.

Coefficients are integers whose magnitudes sum to less than 2^53: scores, high and low are exact. What depends on x
rounds; `rounding` bounds that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled import jit
from .relaxation import RANK, ROUNDOFF

LEVEL_STEP = 4  # variables fixed until their node becomes a level
SMALLEST_STEP = 1e-4  # steps of the ascent that stay inside the box and are smaller are not worth their time


class Levels(NamedTuple):
    """Problems along the current path, with L = n // LEVEL_STEP + 2."""

    size: np.ndarray  # [L] m, the variables that count
    constant: np.ndarray  # [L] score of the variables that are no longer there
    weight: np.ndarray  # [L] at least the sum of |g_i| and |f - constant| everywhere
    pairwise: np.ndarray  # [L, n, n]
    unary: np.ndarray  # [L, n]
    diagonal: np.ndarray  # [L, n] d
    vectors: np.ndarray  # [L, RANK, n] of the semidefinite relaxation
    variable: np.ndarray  # [L, n] numbers of the variables in the whole problem
    fixed: np.ndarray  # [L, n] int8, the whole problem with its fixed variables


class Slots(NamedTuple):
    """Nodes along the current path, with K = n + 2."""

    level: np.ndarray  # [K]
    free_count: np.ndarray  # [K]
    updates: np.ndarray  # [K] moves since g was last computed afresh
    branch: np.ndarray  # [K] variable whose second value is still to be searched
    branch_value: np.ndarray  # [K]
    value: np.ndarray  # [K] f(x)
    bound: np.ndarray  # [K] the least bound proved so far
    x: np.ndarray  # [K, n]
    gradient: np.ndarray  # [K, n]
    high: np.ndarray  # [K, n]
    low: np.ndarray  # [K, n]
    free: np.ndarray  # [K, n] 1.0 if free, else 0.0


def new_levels(n: int) -> Levels:
    """Room for the levels of a problem of n variables."""
    count = n // LEVEL_STEP + 2
    return Levels(
        size=np.zeros(count, np.int64),
        constant=np.zeros(count),
        weight=np.zeros(count),
        pairwise=np.empty((count, n, n)),
        unary=np.empty((count, n)),
        diagonal=np.empty((count, n)),
        vectors=np.empty((count, RANK, n)),
        variable=np.zeros((count, n), np.int64),
        fixed=np.zeros((count, n), np.int8),
    )


def new_slots(n: int) -> Slots:
    """Room for the nodes of a problem of n variables."""
    count = n + 2
    whole = (np.zeros(count, np.int64) for _ in range(4))
    real = (np.zeros(count) for _ in range(3))
    return Slots(*whole, *real, *(np.empty((count, n)) for _ in range(5)))


@jit.reordered_inner
def start_node(k, depth, levels, slots, x):
    """Slot k becomes the root of a level, at the point x."""
    m = levels.size[depth]
    pairwise, unary, diagonal = levels.pairwise[depth], levels.unary[depth], levels.diagonal[depth]
    slots.level[k] = depth
    slots.free_count[k] = m
    weight = 0.0
    for i in range(m):
        row = pairwise[i]
        positive, negative = 0.0, 0.0
        for j in range(m):
            positive += max(row[j], 0.0)
            negative += min(row[j], 0.0)
        slots.high[k, i] = unary[i] + positive
        slots.low[k, i] = unary[i] + negative
        slots.free[k, i] = 1.0
        slots.x[k, i] = x[i]
        weight += abs(unary[i]) + 2.0 * diagonal[i] + positive - negative
    levels.weight[depth] = weight
    refresh(k, levels, slots)


@jit.reordered_inner
def refresh(k, levels, slots):
    """Gradient and value of slot k from its x, free of accumulated rounding."""
    depth = slots.level[k]
    m = levels.size[depth]
    pairwise, unary, diagonal = levels.pairwise[depth], levels.unary[depth], levels.diagonal[depth]
    x, gradient = slots.x[k], slots.gradient[k]
    value = levels.constant[depth]
    for i in range(m):
        row = pairwise[i]
        total = 0.0
        for j in range(m):
            total += row[j] * x[j]
        linear = unary[i] + 0.5 * diagonal[i]
        gradient[i] = linear + total - diagonal[i] * x[i]
        value += 0.5 * x[i] * (linear + gradient[i])
    slots.value[k] = value
    slots.updates[k] = 0


@jit.reordered_inner
def rounding(k, levels, slots):
    """Bound of the rounding error of `tangent_bound`.

    A move rounds g and f by less than 4 roundoff * (weight + |constant|) in total; a refresh and the sum of
    the bound round by m roundoff times that for g, for f and for the sum.
    """
    depth = slots.level[k]
    operations = 2 * (slots.updates[k] + levels.size[depth]) + 8
    return 2.0 * ROUNDOFF * operations * (levels.weight[depth] + abs(levels.constant[depth]))


@jit.reordered_inner
def _move(i, step, row, curvature, gradient, m):
    """x_i += step; returns the gain of f."""
    gain = step * (gradient[i] - 0.5 * curvature * step)
    for j in range(m):
        gradient[j] += row[j] * step
    gradient[i] -= curvature * step
    return gain


@jit.reordered_inner
def fix(k, i, bit, levels, slots):
    """z_i = bit from here on."""
    depth = slots.level[k]
    m = levels.size[depth]
    row = levels.pairwise[depth, i]
    high, low = slots.high[k], slots.low[k]
    step = bit - slots.x[k, i]
    if step != 0.0:
        slots.value[k] += _move(i, step, row, levels.diagonal[depth, i], slots.gradient[k], m)
        slots.x[k, i] = bit
        slots.updates[k] += 1
    if bit > 0.5:
        for j in range(m):
            high[j] += min(row[j], 0.0)
            low[j] += max(row[j], 0.0)
    else:
        for j in range(m):
            high[j] -= max(row[j], 0.0)
            low[j] -= min(row[j], 0.0)
    slots.free[k, i] = 0.0
    slots.free_count[k] -= 1


@jit.reordered_inner
def tangent_bound(k, levels, slots):
    """What no assignment below slot k scores more than, but for rounding."""
    m = levels.size[slots.level[k]]
    x, gradient, free = slots.x[k], slots.gradient[k], slots.free[k]
    total = 0.0
    for i in range(m):
        total += free[i] * max(gradient[i] * (1.0 - x[i]), -gradient[i] * x[i])
    return slots.value[k] + total


@jit.reordered_inner
def sweep(k, levels, slots):
    """One round of coordinate ascent; returns the gain of f."""
    depth = slots.level[k]
    m = levels.size[depth]
    pairwise, diagonal = levels.pairwise[depth], levels.diagonal[depth]
    x, gradient, free = slots.x[k], slots.gradient[k], slots.free[k]
    gained, moves = 0.0, 0
    for i in range(m):
        g, at, curvature = gradient[i], x[i], diagonal[i]
        if free[i] == 0.0 or g == 0.0 or at == (1.0 if g > 0.0 else 0.0):
            continue
        # Compared without a division: the curvature may be zero.
        if g > 0.0:
            target = 1.0 if g >= curvature * (1.0 - at) else at + g / curvature
        else:
            target = 0.0 if -g >= curvature * at else at + g / curvature
        step = target - at
        if 0.0 < target < 1.0 and abs(step) < SMALLEST_STEP:
            continue
        gained += _move(i, step, pairwise[i], curvature, gradient, m)
        x[i] = target
        moves += 1
    slots.value[k] += gained
    slots.updates[k] += moves
    return gained


@jit.reordered_inner
def fixed_score(k, levels, slots, order, fields):
    """Score of the fixed variables alone; `order` lists the free ones, `fields` what z_i = 1 adds for each."""
    depth = slots.level[k]
    m = levels.size[depth]
    pairwise, unary = levels.pairwise[depth], levels.unary[depth]
    x, free = slots.x[k], slots.free[k]
    score, count = levels.constant[depth], 0
    for i in range(m):
        if free[i] == 0.0 and x[i] == 0.0:
            continue
        # Pairs of fixed variables are counted once; half of each twice could leave the exact integers.
        limit = m if free[i] != 0.0 else i
        row, field = pairwise[i], unary[i]
        for j in range(limit):
            field += row[j] * x[j] * (1.0 - free[j])
        if free[i] != 0.0:
            order[count] = i
            fields[count] = field
            count += 1
        else:
            score += field
    return score


@jit.reordered_inner
def assign(k, levels, slots, z):
    """Writes the fixed variables of slot k to z, in the original order; free ones become 0."""
    depth = slots.level[k]
    z[:] = levels.fixed[depth]
    for i in range(levels.size[depth]):
        if slots.free[k, i] == 0.0:
            z[levels.variable[depth, i]] = np.int8(slots.x[k, i])


@jit.reordered_inner
def copy_node(source, target, levels, slots):
    """Slot `target` becomes a copy of slot `source`."""
    slots.level[target] = slots.level[source]
    slots.free_count[target] = slots.free_count[source]
    slots.updates[target] = slots.updates[source]
    slots.value[target] = slots.value[source]
    slots.bound[target] = slots.bound[source]
    for j in range(levels.size[slots.level[source]]):
        slots.x[target, j] = slots.x[source, j]
        slots.gradient[target, j] = slots.gradient[source, j]
        slots.high[target, j] = slots.high[source, j]
        slots.low[target, j] = slots.low[source, j]
        slots.free[target, j] = slots.free[source, j]
