"""Search depth first with branch and bound; cliques of pairs that exclude each other bound nodes.

Some best state has no excluded pair at 1, so it has at most one 1 in a clique C of such pairs. In a
vertex cover, pairs exclude each other at 0, and the search flips all variables. A node whose chosen
variables score s bounds its states by weights y >= 0 of cliques:

    bound = s + sum_C y_C, if sum_(C with i) y_C >= h_i for every free variable i,

where h_i is what i adds beside the chosen variables. These are the multipliers of the clique
inequalities sum_(i in C) z_i <= 1 in a linear program. They are found greedily: a maximal clique
gets the smallest h_i of its members, which is then subtracted from the others.

Weights stop where the bound meets the best score. Unit propagation among the cliques then lowers
what is left: if a variable and k cliques contradict each other, they add at most k weights instead
of k + 1. The search branches on the variables that still have a rest. All numbers are int64 and all
steps exact, so the bound is exact too.

References:
    Balas, Yu (1986), Finding a maximum clique in an arbitrary graph.
    Held, Cook, Sewell (2012), Maximum-weight stable sets and safe lower bounds for graph coloring.
    Li, Quan (2010), An efficient branch-and-bound algorithm based on MaxSAT for the maximum clique
    problem.
    Jiang, Li, Liu, Manyà (2018), A two-stage MaxSAT reasoning approach for the maximum weight
    clique problem.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ...compiled._kernels import clique_cover as kernels
from ...limits.deadline import Deadline, now
from ...limits.progress import Known
from ..precision.fixed_point import FixedPoint

if TYPE_CHECKING:
    from jaxtyping import UInt8

WORK_A_CALL = 1 << 16
"""Work between two looks at the clock, as nodes times n: some milliseconds."""

NANOSECONDS = 300
"""Approximate time per node and variable."""

LATER_SHARE = 0.5
"""Maximum time of a branch of the root, as a share of the mean time of the branches before it.

A branch lacks the variables of the branches before it, so it is smaller: 0.1 to 0.4 on nine graphs.
"""


class CliqueSearch:
    """A search for the best assignment of one instance that can be stopped and resumed."""

    def __init__(
        self,
        scores: FixedPoint,
        excludes: UInt8[np.ndarray, "e"],
        state: np.ndarray,
        deadline: Deadline,
        value: int = 1,
    ):
        """Prepare the search, and bound its root.

        Args:
            scores: a single instance.
            excludes: `[e]`, whether some best state has no such pair at `value`, for all of them at
                once.
            state: `[n]`, an assignment to start from.
            deadline: ends the preparation early.
            value: 1; or 0, and the search flips all variables.
        """
        self._scores = scores
        self._n = scores.unary.shape[1]
        self._flip = 1 - value
        self._constant = 0
        if self._flip:
            scores, constant = scores.flipped()
            state = 1 - state
            self._constant = int(constant[0])
        self._searched_scores = scores
        self._seconds = 0.0
        with deadline.flag(1e-9 * NANOSECONDS * self._n) as stop:
            self._search = kernels.CliqueSearch(
                scores.unary[0],
                np.ascontiguousarray(scores.edges, np.int64),
                scores.pairwise[0],
                excludes,
                np.ascontiguousarray(state, np.int8),
                int(scores.score(state[None])[0]),
                stop,
            )

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best assignment so far."""
        return np.asarray(self._search.state) ^ np.int8(self._flip)

    @property
    def finished(self) -> bool:
        """Whether the search has ended with an optimality certificate."""
        return bool(self._search.finished)

    @property
    def bound(self) -> int:
        """An upper bound on all integer scores."""
        return int(self._search.bound) + self._constant

    @property
    def score_bound(self) -> float:
        """An upper bound on all scores."""
        return float(self._scores.bound(np.array([self.bound]))[0])

    @property
    def seconds_left(self) -> float:
        """Estimated seconds until the end, from the branches of the root that are searched."""
        searched = float(self._search.searched)
        if searched == 0.0:
            return math.inf
        return LATER_SHARE * self._seconds * (1.0 - searched) / searched

    def offer(self, z: np.ndarray) -> None:
        """Keep a state `[n]` if it is better than the best one."""
        state = z ^ np.int8(self._flip)
        score = int(self._searched_scores.score(state[None])[0])
        self._search.offer(np.ascontiguousarray(state, np.int8), score)

    def run(self, deadline: Deadline, nodes: float = np.inf) -> None:
        """Search until the end, the deadline, or so many nodes.

        Args:
            deadline: when to end.
            nodes: how many nodes to handle, at most.
        """
        begin = now()
        handled = 0
        at_once = max(1, WORK_A_CALL // self._n)
        with deadline.flag(1e-9 * NANOSECONDS * min(nodes * self._n, 1e9)) as stop:
            while not self.finished and not deadline.passed and handled < nodes:
                handled += self._search.run(int(min(at_once, nodes - handled)), stop)
                deadline.tell(self._known)
        self._seconds += now() - begin

    def _known(self) -> Known:
        return Known.of(self.z, self.score_bound)
