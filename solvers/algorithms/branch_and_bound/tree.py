"""Depth-first branch and bound for dense problems by concave relaxations; see the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...compiled._kernels import branch_and_bound as kernels
from ...compiled.best import Best


class Incumbent(NamedTuple):
    """The best states so far, and the largest bound that the last of them pruned."""

    best: Best
    margin: float  # nodes whose bound exceeds the last score by no more are pruned
    ceiling: np.ndarray  # [1] the largest bound that was pruned


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """Triangle inequalities with multipliers, which a search adds to the score.

    Attributes:
        inequalities: `[c, 4]` int16, as in `low_rank.hpp`; node 0 is the constant.
        multipliers: `[c]`, not negative.
        step: step of the multipliers at every level of the search.
    """

    inequalities: np.ndarray
    multipliers: np.ndarray
    step: float


PLAIN = Lagrangian(np.zeros((0, 4), np.int16), np.zeros(0), 0.0)
"""The score alone, without inequalities."""


class Tree:
    """The depth-first search tree of one instance, before its first node.

    The scores are whole numbers that sum to less than 2^53.

    Args:
        unary: `[n]`.
        pairwise: `[n, n]`, symmetric, with a zero diagonal.
        incumbent: the best states so far; the search updates it.
        stop: `[1]` uint8; once it is set, the relaxation of the root ends early, with a worse
            bound.
        lagrangian: the inequalities whose Lagrangian the search bounds.
    """

    def __init__(
        self,
        unary: np.ndarray,
        pairwise: np.ndarray,
        incumbent: Incumbent,
        stop: np.ndarray,
        lagrangian: Lagrangian = PLAIN,
    ) -> None:
        self._tree = kernels.Tree(
            np.ascontiguousarray(unary),
            np.ascontiguousarray(pairwise),
            lagrangian.inequalities,
            lagrangian.multipliers,
            lagrangian.step,
            stop,
        )
        self._incumbent = incumbent
        self.nodes = 0

    @property
    def is_open(self) -> bool:
        """Whether a node is open."""
        return self.depth >= 0

    @property
    def depth(self) -> int:
        """Depth of the node that the search handles next; -1 at the end of the search."""
        return int(self._tree.depth)

    @property
    def open_bounds(self) -> np.ndarray:
        """`[nodes]`, an upper bound on the scores of each open node's states."""
        return np.asarray(self._tree.open_bounds)

    @property
    def root_bound(self) -> float:
        """Upper bound of the root on all scores; infinite before the root is handled."""
        return float(self._tree.root_bound)

    @property
    def scale(self) -> float:
        """Mean d_i of the whole problem."""
        return float(self._tree.scale)

    def run(self, budget: int) -> None:
        """Handle up to `budget` nodes."""
        best, margin, ceiling = self._incumbent
        self.nodes += self._tree.run(budget, *best, margin, ceiling)
