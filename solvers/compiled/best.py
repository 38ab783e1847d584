"""Keep the best states of a search, in order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._kernels import common as kernels


class Best(NamedTuple):
    """Best states of a search, all distinct; a search need not go below the last score."""

    scores: np.ndarray  # [count] falling, exact
    places: np.ndarray  # [count] rows of `states`
    states: np.ndarray  # [count, n] int8

    @classmethod
    def of(cls, states: np.ndarray, scores: np.ndarray, count: int) -> Best:
        """Return the best `count` of at least `count` distinct states `[states, n]`.

        Example:
            >>> best = Best.of(np.array([[0], [1]], np.int8), np.array([1.0, 2.0]), 2)
            >>> best.scores.tolist(), in_order(best).tolist()
            ([2.0, 1.0], [[1], [0]])
        """
        order = np.argsort(-scores, kind="stable")[:count]
        return cls(scores[order], np.arange(count), states[order].astype(np.int8))


def in_order(best: Best) -> np.ndarray:
    """Return the states `[count, n]`, the best first."""
    return np.asarray(best.states[best.places])


def take(best: Best, score: float, z: np.ndarray) -> bool:
    """Insert a state `z [n]` behind states of equal score, and drop the last one.

    Returns:
        Whether the state is better than the last one, and new.
    """
    return bool(kernels.take(*best, score, z))
