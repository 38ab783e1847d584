"""Bounds by the semidefinite relaxation with triangle inequalities, which are found as they are violated.

Multipliers mu >= 0 of any of them and any diagonal d with diag(d) - W positive semidefinite, W = C + sum_t mu_t (signs
of t), bound the score by constant + sum_t mu_t + sum_i d_i / 2. The multipliers come from floating point and are not
believed to be the best: d is the length of the field W v_i and a shift of it that a Cholesky factorisation certifies,
and what rounds is added to the bound.

References:
    Rendl, Rinaldi, Wiegele, 2010, Solving max-cut to optimality by intersecting semidefinite and polyhedral
    relaxations. Rump, 2006, Verification of positive definiteness.
"""

from __future__ import annotations

import math

import numpy as np

from ...compiled import jit
from .low_rank import ascend
from .relaxation import ROUNDOFF, cholesky, concave_diagonal

PATIENCE = 3  # updates before a node may be given up
VIOLATION = 0.05  # of inequalities that are added
NEGLIGIBLE = 1e-4  # multipliers below, in units of the scale, are dropped


@jit.reordered_inner
def _drop(triangles, least):
    """Takes out inequalities whose multiplier is at most `least`."""
    kept = 0
    for t in range(triangles.size[0]):
        if triangles.multipliers[t] > least:
            triangles.nodes[kept] = triangles.nodes[t]
            triangles.multipliers[kept] = triangles.multipliers[t]
            kept += 1
    triangles.size[0] = kept


@jit.reordered_inner
def _place(i, j, k):
    return i * (i - 1) * (i - 2) // 6 + j * (j - 1) // 2 + k


@jit.reordered_inner
def _mark(triangles, known, bit):
    """Sets or clears the inequalities that are there."""
    for t in range(triangles.size[0]):
        i, j, k, kind = triangles.nodes[t]
        known[_place(i, j, k)] = known[_place(i, j, k)] | np.uint8(1 << kind) if bit else 0


@jit.reordered_inner
def _worse_half(space, count):
    """Keeps the listed inequalities that are violated more than the median; returns how many, and the median."""
    median, kept = np.partition(space.slacks[:count], count // 2)[count // 2], 0
    for c in range(count):
        if space.slacks[c] < median:
            space.slacks[kept] = space.slacks[c]
            space.found[kept] = space.found[c]
            kept += 1
    return kept, median


@jit.reordered_inner
def _violated(triangles, space, m):
    """Lists inequalities that X violates and that are not there; returns how many."""
    gram, known, found, slacks = space.gram, space.known, space.found, space.slacks
    count, limit = 0, -1.0 - VIOLATION
    _mark(triangles, known, True)
    for i in range(2, m):
        for j in range(1, i):
            a, base = gram[i, j], _place(i, j, 0)
            for k in range(j):
                b, c = gram[i, k], gram[j, k]
                same, other = a - abs(b + c), -a - abs(b - c)
                if min(same, other) < limit:
                    kind = (0 if b + c < 0.0 else 1) if same < other else (2 if b < c else 3)
                    if not known[base + k] >> kind & 1:
                        found[count, 0], found[count, 1], found[count, 2], found[count, 3] = i, j, k, kind
                        slacks[count] = min(same, other)
                        count += 1
            if count + m > len(slacks):
                count, limit = _worse_half(space, count)
    _mark(triangles, known, False)
    return count


@jit.reordered_inner
def _separate(triangles, space, m, most):
    """Adds the inequalities that X violates most."""
    count = _violated(triangles, space, m)
    most = min(most, len(triangles.multipliers) - triangles.size[0])
    limit = 0.0
    if count > most:
        limit = np.partition(space.slacks[:count], most)[most]
    for c in range(count):
        if space.slacks[c] < limit:
            t = triangles.size[0]
            triangles.nodes[t] = space.found[c]
            triangles.multipliers[t] = 0.0
            triangles.size[0] += 1


@jit.reordered_inner
def _lengths(field, out, m):
    out[:m] = 0.0
    total = 0.0
    for r in range(len(field)):
        for i in range(m):
            out[i] += field[r, i] * field[r, i]
    for i in range(m):
        out[i] = math.sqrt(out[i])
        total += out[i]
    return total


@jit.reordered_inner
def _rounding(couplings, triangles, constant, lengths, space, m):
    """Bound of what rounds in W and in the sums of the bound, all of them of less than `operations` terms."""
    weight = abs(constant) + lengths
    for i in range(m):
        for j in range(i):
            weight += abs(couplings[i, j])
    for t in range(triangles.size[0]):
        weight += 4.0 * space.updated[t]
    operations = triangles.size[0] + 2 * m + 8
    return 4.0 * ROUNDOFF * operations * weight


@jit.reordered_inner
def _certify(couplings, constant, m, triangles, space):
    """What no state scores more than, from the multipliers and W of the last update; `lines[1]` is lost."""
    lengths = space.lines[1]
    if not concave_diagonal(space.weights, m, lengths, space.factor, space.lines[3], 2):
        return np.inf
    total = 0.0
    for i in range(m):
        total += lengths[i]
    bound = constant + 0.5 * total
    for t in range(triangles.size[0]):
        bound += space.updated[t]
    return bound + _rounding(couplings, triangles, constant, total, space, m)


@jit.reordered
def tighten(couplings, constant, m, triangles, space, scale, threshold, rounds, stop):
    """Bounds the score until the bound is at most the threshold, or seems never to be.

    Args:
        couplings: `[n, n]` C, of which the first m rows and columns count.
        constant: what the score has beside the couplings.
        m: see there.
        triangles: in and out.
        space: its points are in and out; X, W and the field are left as they were last.
        scale: that of the coefficients.
        threshold: see there.
        rounds: at most so many updates of the multipliers.
        stop: `[1]` uint8; the rounds end once it is set.

    Returns:
        A bound that is proved: the threshold, or a larger one.
    """
    recent = np.full(3, np.inf)
    lengths = space.lines[1]
    for count in range(rounds):
        ascend(couplings, triangles, scale, space, m)
        total = _lengths(space.field, lengths, m)
        estimate = constant + 0.5 * total
        for t in range(triangles.size[0]):
            triangles.multipliers[t] = space.updated[t]
            estimate += space.updated[t]
        spare = 2.0 * (threshold - estimate - _rounding(couplings, triangles, constant, total, space, m)) / m
        if spare > 0.0:
            # A factorisation of A + s I that runs through proves A + (s + this) I positive semidefinite (Rump 2006).
            spare -= 4.0 * (m + 2) * ROUNDOFF * (total + m * spare)
            if cholesky(space.weights, lengths, spare, m, space.factor) == m:
                return threshold
        recent[count % 3] = estimate
        gain = recent[(count + 1) % 3] - estimate
        if (count >= PATIENCE and estimate - gain > threshold) or count == rounds - 1 or stop[0]:
            break
        _drop(triangles, NEGLIGIBLE * scale)
        _separate(triangles, space, m, 10 * m)
    return max(threshold, _certify(couplings, constant, m, triangles, space))
