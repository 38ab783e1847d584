"""The best states that a search has found, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._kernels import common as kernels


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


def take(best: Best, score: float, z: np.ndarray) -> bool:
    """Put a state `z [n]` in its place, behind states of equal score, and drop the last one.

    Returns:
        Whether the state is better than the last one, and was not there.
    """
    return bool(kernels.take(*best, score, z))
