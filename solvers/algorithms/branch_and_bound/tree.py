"""Depth-first branch and bound for dense pairwise problems, within concave relaxations; the kernel explains it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled._kernels import branch_and_bound as kernels
from ...compiled.best import Best


class Incumbent(NamedTuple):
    """The best states so far, as many as are asked for, and what was pruned on the strength of the last of them."""

    best: Best
    margin: float  # nodes whose bound exceeds the last score by no more are pruned
    ceiling: np.ndarray  # [1] the largest bound that was pruned


class Tree:
    """The tree of one instance, whose scores are whole numbers that sum to less than 2^53; no node is handled yet.

    Args:
        unary: `[n]`.
        pairwise: `[n, n]`, symmetric, with a zero diagonal.
        incumbent: in and out.
        stop: `[1]` uint8; the relaxation of the root is worse once it is set.
    """

    def __init__(
        self, unary: np.ndarray, pairwise: np.ndarray, incumbent: Incumbent, stop: np.ndarray
    ) -> None:
        self._tree = kernels.Tree(np.ascontiguousarray(unary), np.ascontiguousarray(pairwise), stop)
        self._incumbent = incumbent
        self.nodes = 0

    @property
    def is_open(self) -> bool:
        """Whether there is a node left."""
        return self.depth >= 0

    @property
    def depth(self) -> int:
        """Of the node to go on with; -1 once all is searched."""
        return int(self._tree.depth)

    @property
    def open_bounds(self) -> np.ndarray:
        """`[nodes]`: what no state of the open nodes scores more than."""
        return np.asarray(self._tree.open_bounds)

    @property
    def root_bound(self) -> float:
        """What no state at all scores more than, by the root; infinite before it is handled."""
        return float(self._tree.root_bound)

    @property
    def scale(self) -> float:
        """The mean d_i of the whole problem."""
        return float(self._tree.scale)

    def run(self, budget: int) -> None:
        """Handle up to `budget` nodes."""
        best, margin, ceiling = self._incumbent
        self.nodes += self._tree.run(budget, *best, margin, ceiling)
