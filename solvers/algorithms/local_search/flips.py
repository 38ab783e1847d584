"""Compiled one-flip local search: gains kept up to date flip by flip, and a tabu run over them.

The gain of variable i is by how much flipping it raises the score,

    gain_i = sign_i (unary_i + sum_j pairwise_ij z_j),   sign_i = 1 - 2 z_i,

and flipping k negates gain_k and adds pairwise_kj sign_k sign_j (old sign_k) to gain_j. All arrays of an
instance have one type: int32 where the scores, as multiples of a power of two, lose nothing that matters
(gains are then exact, and ties are ties), else float64.

Arrays over the variables are padded to `width`, a multiple of BLOCK, so that the loops over them run in
whole vector registers: the gain of a variable that does not exist is `lowest`, below all others.

A graph is (rows, first, node, weight): either `rows [n, width]`, symmetric with a zero diagonal, or, where
that has no rows, the adjacency `first [n + 1]`, `node [2e]`, `weight [2e]` of compressed sparse rows.

References:
    Glover, Lü, Hao (2010), Diversification-driven tabu search for unconstrained binary quadratic problems.
"""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from ...compiled.bits import lowest_bit
from ...compiled.random import below, random_bits

BLOCK = 32
NEVER = np.int32(2**31 - 1)


def padded(n: int) -> int:
    """The width of arrays over n variables."""
    return -(-n // BLOCK) * BLOCK


@jit.strict_inner
def flip(k, gains, signs, graph):
    """Flips variable k; returns the gain of that."""
    rows, first, node, weight = graph
    gained = gains[k]
    sign = signs[k]
    if rows.shape[0]:
        row = rows[k]
        for j in range(row.shape[0]):
            gains[j] += gains.dtype.type(gains.dtype.type(row[j] * sign) * signs[j])
    else:
        for entry in range(first[k], first[k + 1]):
            j = node[entry]
            gains[j] += weight[entry] * sign * signs[j]
    signs[k] = -sign
    gains[k] = -gained
    return np.float64(gained)


@jit.strict_inner
def load_state(z, field, gains, signs, graph):
    """Sets signs and gains to those of z [n], from nothing; returns its score."""
    gains[:] = field
    signs[:] = 1
    score = 0.0
    for k in range(z.shape[0]):
        if z[k]:
            score += flip(k, gains, signs, graph)
    return score


@jit.strict_inner
def best_move(gains, until, step, need, lowest, allowed, bits):
    """The variable of largest gain among those that are not tabu or gain more than need; ties by bits.

    A variable is tabu as long as step <= until. allowed is scratch; only its shape matters.
    """
    best = lowest
    for i in range(gains.shape[0]):
        gain = gains[i]
        gain = gain if (until[i] < step) | (gain > need) else lowest
        allowed[i] = gain
        best = max(gain, best)
    blocks = gains.shape[0] // BLOCK
    start = below(blocks, bits) * BLOCK
    for _ in range(blocks):
        block = allowed[start : start + BLOCK]
        word = np.uint32(0)
        for i in range(BLOCK):
            word |= np.uint32(np.uint32(block[i] == best) << np.uint32(i))
        if word:
            turn = (bits >> 20) % BLOCK
            turned = (np.int64(word) << BLOCK | np.int64(word)) >> turn
            return start + (lowest_bit(turned) + turn) % BLOCK
        start += BLOCK
        if start == gains.shape[0]:
            start = 0
    return 0


@jit.strict_inner
def walk_towards(target, steps, gains, signs, lowest, scratch, graph, random):
    """Makes the steps best flips, one by one, that bring the state nearer to target [n]; returns the gain."""
    until, allowed = scratch
    until[:] = NEVER
    for i in range(target.shape[0]):
        if (signs[i] < 0) != (target[i] != 0):
            until[i] = -1
    gained = 0.0
    for _ in range(steps):
        k = best_move(gains, until, np.int32(0), -lowest, lowest, allowed, random_bits(random))
        until[k] = NEVER
        gained += flip(k, gains, signs, graph)
    return gained


@jit.strict_inner
def descend(gains, signs, graph):
    """Flips every variable that gains, one after the other, until none does; returns the gain of that."""
    gained, before = 0.0, -1.0
    while gained > before:
        before = gained
        for k in range(gains.shape[0]):
            if gains[k] > 0:
                gained += flip(k, gains, signs, graph)
    return gained


@jit.strict_inner
def tabu_run(score, patience, gains, signs, best_z, lowest, scratch, graph, random, stop):
    """Flips the best variable not tabu, again and again, until `patience` flips brought no new best.

    Args:
        score: of the state.
        patience: flips without a new best after which the run ends.
        gains: `[width]`, of the state; left at those of the last state.
        signs: `[width]`, likewise.
        best_z: `[n]` int8, output: the best state.
        lowest: below all gains.
        scratch: until `[width]` int32, and allowed `[width]` of the type of the gains.
        graph: (rows, first, node, weight).
        random: `[1]` uint64, state of the random numbers.
        stop: `[1]` uint8; the run ends once it is set.

    Returns:
        The score of best_z.
    """
    n = best_z.shape[0]
    until, allowed = scratch
    tenure = min(n // 100 + 8, n // 4)
    # Found by trial: long tenures for maximum cuts of sparse graphs, short ones for dense problems.
    spread = min(10 if graph[0].shape[0] else 10 + n // 12, n - tenure)
    until[:] = 0
    best = score
    last = 0
    step = 0
    recorded = False
    while step - last < patience and not stop[0]:
        step += 1
        bits = random_bits(random)
        need = gains.dtype.type(min(best - score, -np.float64(lowest)))
        k = best_move(gains, until, np.int32(step), need, lowest, allowed, bits)
        if not recorded and gains[k] <= 0:
            recorded = True
            _record(signs, best_z)
        score += flip(k, gains, signs, graph)
        until[k] = step + tenure + below(spread, bits >> 40)
        if score > best:
            best = score
            last = step
            recorded = False
    if not recorded:
        _record(signs, best_z)
    return best


@jit.strict_inner
def _record(signs, z):
    for i in range(z.shape[0]):
        z[i] = signs[i] < 0
