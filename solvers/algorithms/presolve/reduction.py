"""Reduce an instance to its free variables once the others are fixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Reduced:
    """An instance in its free variables: score(lift(z)) = constant + score of z here.

    Attributes:
        unary: `[m]`, float64; m may be 0.
        pairwise: `[k]`, float64.
        edges: `[k, 2]`, between free variables, numbered 0 .. m - 1 in their order.
        constant: the score of the fixed variables.
        fixed: `[n]`, 0 or 1, or -1 where free.
    """

    unary: Float[np.ndarray, "m"]
    pairwise: Float[np.ndarray, "k"]
    edges: Int[np.ndarray, "k 2"]
    constant: float
    fixed: Int[np.ndarray, "n"]

    def lift(self, z: np.ndarray) -> np.ndarray:
        """Return states `[..., n]` int8: the fixed values, and `z [..., m]` for free variables."""
        lifted = np.broadcast_to(self.fixed, (*z.shape[:-1], len(self.fixed))).astype(np.int8)
        lifted[..., self.fixed < 0] = z
        return lifted


def reduced(
    unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray, fixed: np.ndarray
) -> Reduced:
    """Return one instance in its free variables, with the others fixed.

    Args:
        unary: `[n]`.
        pairwise: `[e]`.
        edges: `[e, 2]`.
        fixed: `[n]`: 0 or 1, or -1 for a variable that stays free.

    Example:
        >>> unary, pairwise, edges = np.array([1.0, 2.0]), np.array([3.0]), np.array([[0, 1]])
        >>> left = reduced(unary, pairwise, edges, fixed=np.array([1, -1]))
        >>> left.unary.tolist(), left.constant, left.lift(np.array([1])).tolist()
        ([5.0], 1.0, [1, 1])
    """
    unary = unary.astype(np.float64)
    pairwise = pairwise.astype(np.float64)
    free = fixed < 0
    if free.all():
        return Reduced(unary, pairwise, edges, 0.0, np.asarray(fixed))
    one = (fixed == 1).astype(np.float64)
    first = edges[:, 0]
    second = edges[:, 1]
    # A neighbour that is fixed at 1 turns its pair into a unary score.
    offset = unary.copy()
    np.add.at(offset, first, pairwise * one[second])
    np.add.at(offset, second, pairwise * one[first])
    constant = float(unary @ one + (pairwise * one[first]) @ one[second])
    inside = free[first] & free[second]
    # The new number of every free variable.
    number = np.cumsum(free) - 1
    return Reduced(
        offset[free], pairwise[inside], number[edges[inside]], constant, np.asarray(fixed)
    )
