"""Find a path of single flips from one state to another, through states of high score."""

from __future__ import annotations

from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray

from models import Potentials

from .fixed_bits import reduced

SCORED_TOGETHER: Final = 1 << 14
"""Most states for which all pairs of differing bits are considered."""


def best_path(
    h: Potentials, start: NDArray[np.int8], end: NDArray[np.int8]
) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """Return the path `[flips + 1, n]` of the highest sum of scores, and its scores.

    Every differing bit flips once. With d of them the best sum to each of the 2^d sets of flips
    follows from those of one flip less (dynamic programming over sets), so that no other order is
    better.

    Args:
        h: scores, one row.
        start: `[n]`, bits.
        end: `[n]`, bits; at most 20 differ.
    """
    differing = np.flatnonzero(start != end)
    d = len(differing)
    sets = np.arange(2**d)
    flipped = (sets[:, None] >> np.arange(d) & 1).astype(bool)
    scores = _scores(h, start, differing, flipped)
    size = flipped.sum(axis=1)
    best = scores.copy()
    last = np.zeros(2**d, dtype=np.int64)
    for count in range(1, d + 1):
        now = sets[size == count]
        before = np.full((len(now), d), -np.inf)
        for i in range(d):
            has = flipped[now, i]
            before[has, i] = best[now[has] ^ (1 << i)]
        last[now] = before.argmax(axis=1)
        best[now] += before.max(axis=1)
    visited = [2**d - 1]
    while visited[-1]:
        visited.append(visited[-1] ^ (1 << int(last[visited[-1]])))
    order = visited[::-1]
    states = np.repeat(start[None], d + 1, axis=0)
    states[:, differing] ^= flipped[order].astype(np.int8)
    return states, scores[order]


def _scores(
    h: Potentials, start: NDArray[np.int8], differing: NDArray[np.int64], flipped: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return the scores `[2^d]` of `start` with each set of flips."""
    kept = {i: int(start[i]) for i in range(len(start)) if i not in differing}
    double = Potentials(
        h.unary.double(), None if h.pairwise is None else h.pairwise.double(), h.edges
    )
    free, constant = reduced(double, kept)
    if free is None:
        return np.array([constant])
    states = torch.from_numpy(flipped ^ start[differing].astype(bool))
    starts = range(0, len(states), SCORED_TOGETHER)
    totals = torch.cat(
        [free.score(states[first : first + SCORED_TOGETHER].double()) for first in starts]
    )
    scores: NDArray[np.float64] = constant + totals.numpy()
    return scores
