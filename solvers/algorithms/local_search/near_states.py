"""List states around one, from which a search for several states begins."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...problems.flips import flip_gains
from ...problems.problem import Problem


def states_around(problem: Problem, z: np.ndarray, count: int) -> States:
    """Return `near_states` of a state `[n]` of a single instance on the host."""
    if count == 1:
        return np.asarray(z[None], np.int8)
    return near_states(z, flip_gains(problem, z), count)


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


def near_states_of_each(z: States, gains: np.ndarray, count: int) -> States:
    """Return `count` states of each instance, the given one first, `[batch, count, n]`.

    They are all distinct, and differ only in the variables whose flips cost least. This takes a
    small part of the time of `near_states` for each instance, whose states score more.

    Args:
        z: `[batch, n]` of zeros and ones.
        gains: `[batch, n]`, what flipping each variable adds to the score.
        count: at most 2^n.

    Example:
        >>> near_states_of_each(np.array([[1, 0]]), np.array([[-2.0, -1.0]]), 3)[0].tolist()
        [[1, 0], [1, 1], [0, 0]]
    """
    batch = len(z)
    bits = (count - 1).bit_length()  # at most n, which gives at least `count` states
    cheap = np.argsort(-gains, axis=1, kind="stable")[:, :bits]
    codes = (np.arange(1 << bits)[:, None] >> np.arange(bits) & 1).astype(np.int8)
    added = np.take_along_axis(gains, cheap, axis=1) @ codes.T.astype(np.float64)
    # The state itself comes first, even where some flip gains.
    added[:, 0] = np.inf
    chosen = np.argsort(-added, axis=1, kind="stable")[:, :count]
    states = np.repeat(z[:, None].astype(np.int8), count, axis=1)
    instance = np.arange(batch)[:, None]
    for bit in range(bits):
        states[instance, np.arange(count), cheap[:, bit, None]] ^= codes[chosen, bit]
    return states
