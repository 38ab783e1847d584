"""The best states that a search has found, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import jit


class Best(NamedTuple):
    """States without repetition; what a search need not beat is the score of the last one."""

    scores: np.ndarray  # [count] falling, exact
    places: np.ndarray  # [count] rows of `states`
    states: np.ndarray  # [count, n] int8

    @classmethod
    def of(cls, states: np.ndarray, scores: np.ndarray, count: int) -> Best:
        """The best `count` of states `[found, n]`, of which there are as many and none twice.

        Example:
            >>> best = Best.of(np.array([[0], [1]], np.int8), np.array([1.0, 2.0]), 2)
            >>> best.scores.tolist(), in_order(best).tolist()
            ([2.0, 1.0], [[1], [0]])
        """
        order = np.argsort(-scores, kind="stable")[:count]
        return cls(scores[order], np.arange(count), states[order].astype(np.int8))


def in_order(best: Best) -> np.ndarray:
    """`[count, n]`: the states, the best first."""
    return np.asarray(best.states[best.places])


@jit.strict
def take(best, score, z):
    """Puts a state `z [n]` to its place, behind those of equal score, and drops the last; unless it is there."""
    scores, places, states = best
    last = len(scores) - 1
    if not score > scores[last]:
        return False
    k = last
    while k > 0 and scores[k - 1] < score:
        k -= 1
    same = k - 1
    while same >= 0 and scores[same] == score:
        if (states[places[same]] == z).all():
            return False
        same -= 1
    row = places[last]
    for j in range(last, k, -1):
        scores[j], places[j] = scores[j - 1], places[j - 1]
    states[row] = z
    scores[k], places[k] = score, row
    return True
