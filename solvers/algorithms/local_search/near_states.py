"""List states around one, from which a search for several states begins."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...problems.problem import Problem


def states_around(problem: Problem, z: np.ndarray, count: int) -> States:
    """Return `near_states` of a state `[n]` of a single instance on the host."""
    if count == 1:
        return np.asarray(z[None], np.int8)
    return near_states(z, flip_gains(problem, z), count)


def flip_gains(problem: Problem, z: np.ndarray) -> np.ndarray:
    """Return `[n]`, the gain of flipping each variable of a state `[n]` of a single instance."""
    field = problem.unary[0].astype(np.float64)
    for here, there in (problem.topology.pairs.T, problem.topology.pairs.T[::-1]):
        field += np.bincount(here, problem.pairwise[0] * z[there], problem.n)
    return np.asarray((1 - 2 * z) * field)


def near_states(z: np.ndarray, gains: np.ndarray, count: int) -> States:
    """Return a state and at least `count` states in all around it, `[states, n]`, all distinct.

    The state itself comes first. The other states differ where flips cost least. They are ordered
    by the sum of their flips' gains, which is not the order of their scores.

    Args:
        z: `[n]` of zeros and ones.
        gains: `[n]`, what flipping each variable adds to the score.
        count: at most 2^n.

    Example:
        >>> near_states(np.array([1, 0]), np.array([-2.0, -1.0]), 2).tolist()
        [[1, 0], [1, 1], [0, 0], [0, 1]]
    """
    n = len(z)
    if count == 1:
        return np.asarray(z[None], np.int8)
    cheap = np.argsort(-gains, kind="stable")
    single = cheap[:count]
    # About 2 sqrt(count) variables have 2 count pairs, enough to choose from.
    pairs = cheap[np.stack(np.triu_indices(min(n, 2 + int(2 * count**0.5)), 1))]
    bits = (count - 1).bit_length()  # at most n, which gives at least `count` states
    codes = np.arange(1 << bits)[:, None] >> np.arange(bits) & 1
    flips = np.zeros((len(single) + len(pairs[0]) + len(codes), n), np.int8)
    flips[np.arange(len(single)), single] = 1
    for end in pairs:
        flips[len(single) + np.arange(len(end)), end] = 1
    flips[len(flips) - len(codes) :, cheap[:bits]] = codes
    flips = np.unique(flips, axis=0)
    added = flips @ np.asarray(gains, np.float64)
    # The state itself comes first, even where some flip gains.
    added[~flips.any(axis=1)] = np.inf
    return z.astype(np.int8) ^ flips[np.argsort(-added, kind="stable")]
