"""Find a path of single flips from one state to another, through states of high score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

SCORED_TOGETHER: Final = 1 << 14
"""The maximum number of states that are scored at once."""


def best_path(
    score: Callable[[torch.Tensor], torch.Tensor], start: NDArray[np.int8], end: NDArray[np.int8]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return the path `[flips + 1, n]` of the highest sum of scores, and its scores.

    Every differing bit flips once. With d of them the best sum to each of the 2^d sets of flips
    follows from those of one flip less (dynamic programming over sets), so that no other order is
    better.

    Args:
        score: returns the scores `[m]` of states `[m, n]`.
        start: `[n]`, bits.
        end: `[n]`, bits; at most 20 differ.
    """
    differing = np.flatnonzero(start != end)
    d = len(differing)
    sets = np.arange(2**d)
    flipped = (sets[:, None] >> np.arange(d) & 1).astype(bool)
    scores = _scores(score, start, differing, flipped)
    size = flipped.sum(axis=1)
    best = scores.copy()
    last = np.zeros(2**d, dtype=np.int64)
    for count in range(1, d + 1):
        now = sets[size == count]
        before = np.full((len(now), d), -np.inf)
        for i in range(d):
            has = flipped[now, i]
            # A set without flip i is smaller by one, so its best sum is complete.
            before[has, i] = best[now[has] ^ (1 << i)]
        last[now] = before.argmax(axis=1)
        best[now] += before.max(axis=1)
    # Backwards from the set of all flips, by the last flip of each set.
    visited = [2**d - 1]
    while visited[-1]:
        visited.append(visited[-1] ^ (1 << int(last[visited[-1]])))
    order = visited[::-1]
    states = np.repeat(start[None], d + 1, axis=0)
    states[:, differing] ^= flipped[order].astype(np.int8)
    return states, scores[order]


def _scores(
    score: Callable[[torch.Tensor], torch.Tensor],
    start: NDArray[np.int8],
    differing: NDArray[np.int64],
    flipped: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Return the scores `[2^d]` of `start` with each set of flips."""
    totals = []
    for first in range(0, len(flipped), SCORED_TOGETHER):
        flips = flipped[first : first + SCORED_TOGETHER]
        states = np.repeat(start[None], len(flips), axis=0)
        states[:, differing] ^= flips.astype(np.int8)
        totals.append(score(torch.from_numpy(states)))
    scores: NDArray[np.float64] = torch.cat(totals).double().numpy()
    return scores
