"""The states of highest score among all 2^n, in order."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...compiled import jit
from ...compiled.threads import over_slices
from ...problem import Problem

LOW = 14
"""Variables whose states are scored at once: their table stays near the processor."""


def best_states(problem: Problem, count: int, threads: int | None) -> States:
    """`[batch, count, n]` int8, the best first, of a problem on the host of at least `count` states."""
    n = problem.n
    unary = np.asarray(problem.unary, np.float64)
    pairwise = np.zeros((problem.batch, n, n))
    pairs = problem.topology.pairs
    pairwise[:, pairs[:, 0], pairs[:, 1]] = pairwise[:, pairs[:, 1], pairs[:, 0]] = problem.pairwise
    codes = np.zeros((problem.batch, count), np.int64)
    over_slices(_best_codes, unary, pairwise, codes, nanoseconds=4 * 2.0**n, threads=threads)
    return (codes[:, :, None] >> np.arange(n) & 1).astype(np.int8)


@jit.strict
def _best_codes(unary, pairwise, codes):
    """Writes the states `[batch, count]`, bit i for variable i, of unary `[batch, n]` and pairwise `[batch, n, n]`."""
    batch, n = unary.shape
    low = min(n, LOW)
    scores, gains = np.empty(1 << low), np.empty(1 << low)
    best = np.empty(codes.shape[1])
    for b in range(batch):
        best[:] = -np.inf
        field = np.empty(low)
        for high in range(1 << (n - low)):
            scores[0] = _fields(unary[b], pairwise[b], high, low, field)
            for k in range(low):
                half = 1 << k
                gains[0] = field[k]
                for j in range(k):
                    for s in range(1 << j):
                        gains[(1 << j) + s] = gains[s] + pairwise[b, j, k]
                for s in range(half):
                    scores[half + s] = scores[s] + gains[s]
            for s in range(1 << low):
                if scores[s] > best[-1]:
                    _insert(scores[s], (high << low) + s, best, codes[b])


@jit.strict_inner
def _fields(unary, pairwise, high, low, field):
    """The score of the high bits alone; writes what each low bit adds to it."""
    score = 0.0
    for i in range(low):
        field[i] = unary[i]
    for i in range(low, len(unary)):
        if high >> (i - low) & 1:
            score += unary[i]
            for j in range(low):
                field[j] += pairwise[i, j]
            for j in range(low, i):
                if high >> (j - low) & 1:
                    score += pairwise[i, j]
    return score


@jit.strict_inner
def _insert(score, code, best, codes):
    """Puts a state to its place, behind those of equal score; the last one goes."""
    k = len(best) - 1
    while k > 0 and best[k - 1] < score:
        best[k], codes[k] = best[k - 1], codes[k - 1]
        k -= 1
    best[k], codes[k] = score, code
