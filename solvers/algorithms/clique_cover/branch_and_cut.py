"""Search best first for states without excluded pairs, bounded by linear programs over cliques.

A node chooses some variables and leaves others out. Its linear program bounds it (`programs`), and
the search branches on a fraction: the variable is chosen, with all that it excludes left out, or it
is left out. Cliques are only added at the root.

The bounds fall much sooner than those of the depth-first search of this package, whose nodes take a
hundredth of the time. So they serve instances that the other search does not end.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass, field

import numpy as np

from ...limits.deadline import Deadline
from ...limits.progress import Known
from ..precision.fixed_point import FixedPoint
from .programs import FREE, POSITIVE, CliqueProgram


@dataclass(order=True)
class Node:
    """The states in which some variables are fixed at 1 and some at 0.

    Attributes:
        key: minus the bound.
        number: of this node, which decides between equal bounds.
        status: `[n]` int8, the value of each fixed variable, else `FREE`.
        x: `[n]`, the optimum of its linear program, or of that of its parent.
    """

    key: int
    number: int
    status: np.ndarray = field(compare=False)
    x: np.ndarray = field(compare=False)


class CliqueBranchAndCut:
    """A search for the best state of one instance that can be stopped and resumed."""

    def __init__(self, scores: FixedPoint, excludes: np.ndarray, state: np.ndarray, value: int = 1):
        """Prepare the search without any linear program.

        Args:
            scores: a single instance.
            excludes: `[e]`, whether some best state has no such pair at `value`, for all of them at
                once.
            state: `[n]`, a state to start from.
            value: 1; or 0, and the search flips all variables.
        """
        self._original = scores
        self._flip = np.int8(1 - value)
        self._constant = 0
        if value == 0:
            scores, constant = scores.flipped()
            self._constant = int(constant[0])
        self._scores = scores
        self._excluded = excludes != 0
        n = scores.unary.shape[1]
        adjacent = np.zeros((n, n), bool)
        first, second = scores.edges[self._excluded].T
        adjacent[first, second] = adjacent[second, first] = True
        self._adjacent = adjacent
        gains = self._most_gains()
        self._gains = gains
        self._program = CliqueProgram(gains, adjacent)
        self._state = state ^ self._flip
        self._best = self._score(self._state)
        self._root_done = False
        self._has_cliques = False
        trivial = int(np.maximum(gains, 0).sum())
        self._open = [Node(-trivial, 0, np.full(n, FREE, np.int8), self._program.x)]
        self._numbers = 0

    def _most_gains(self) -> np.ndarray:
        """Return `[n]`, how much each variable adds at most: half of each pair that gains."""
        gains: np.ndarray = self._scores.unary[0].copy()
        gaining = ~self._excluded & (self._scores.pairwise[0] > 0)
        half = -(-self._scores.pairwise[0][gaining] // 2)
        for end in self._scores.edges[gaining].T:
            np.add.at(gains, end, half)
        return gains

    @property
    def z(self) -> np.ndarray:
        """`[n]` int8, the best state so far."""
        return np.asarray(self._state ^ self._flip, np.int8)

    @property
    def finished(self) -> bool:
        """Whether no open node can contain a better state."""
        return not self._open or -self._open[0].key <= self._best

    @property
    def score_bound(self) -> float:
        """An upper bound on all scores."""
        bound = self._best
        if self._open:
            bound = max(bound, -self._open[0].key)
        return float(self._original.bound(np.array([bound + self._constant]))[0])

    @property
    def seconds_left(self) -> float:
        """Infinite: the time until an optimality certificate is unknown."""
        return math.inf

    def offer(self, z: np.ndarray) -> None:
        """Keep a state `[n]` if it is better than the best one."""
        state = z ^ self._flip
        score = self._score(state)
        if score > self._best:
            self._best = score
            self._state = state

    def run(self, deadline: Deadline, nodes: float = math.inf) -> None:
        """Search until the end, the deadline, or after `nodes` branchings."""
        while not self._root_done and not self.finished and not deadline.passed:
            deadline.tell(self._known)
            self._cut_root(deadline)
        last = self._numbers + 2 * nodes
        while not self.finished and not deadline.passed and self._numbers < last:
            deadline.tell(self._known)
            node = heapq.heappop(self._open)
            for child in self._children(node):
                heapq.heappush(self._open, self._bounded(child, deadline))

    def _cut_root(self, deadline: Deadline) -> None:
        """Add cliques to the root once, and bound it again."""
        (root,) = self._open
        # Cliques of an earlier call wait if the deadline cut off the linear program.
        self._has_cliques = self._has_cliques or self._program.add_cliques(deadline)
        if not self._has_cliques:
            self._root_done = not deadline.passed
            return
        bounded = self._bounded(root, deadline)
        self._has_cliques = deadline.passed
        self._open = [bounded]
        self._offer_rounded(bounded)

    def _bounded(self, node: Node, deadline: Deadline) -> Node:
        """Return the node with the bound of its linear program, as far as it is solved in time."""
        self._program.fix(node.status)
        x = node.x
        if self._program.solve(deadline):
            x = self._program.x
        key = node.key
        # The multipliers of a program that the deadline cut off give a bound, too.
        bound = self._program.bound(node.status)
        if bound is not None:
            key = max(key, -bound)
        return Node(key, node.number, node.status, x)

    def _children(self, node: Node) -> list[Node]:
        """Return the nodes that differ in one variable; none if the node has a single state."""
        self._offer_rounded(node)
        self._numbers += 2
        free = np.flatnonzero(node.status == FREE)
        if not len(free):
            return []
        variable = self._branching(node.x, free)
        without = node.status.copy()
        without[variable] = 0
        chosen = node.status.copy()
        chosen[self._adjacent[variable]] = 0
        chosen[variable] = 1
        return [
            Node(node.key, self._numbers, without, node.x),
            Node(node.key, self._numbers + 1, chosen, node.x),
        ]

    def _branching(self, x: np.ndarray, free: np.ndarray) -> int:
        """Return the free variable whose two values change the linear program most, about."""
        fraction = np.minimum(x[free], 1.0 - x[free])
        if fraction.max() <= POSITIVE:
            return int(free[np.argmax(x[free])])
        weight = np.abs(self._gains[free]).astype(np.float64)
        beside = self._adjacent[free] @ x
        return int(free[np.argmax(fraction * weight * beside)])

    def _offer_rounded(self, node: Node) -> None:
        """Offer the chosen variables, with others in the order of the linear program."""
        state = (node.status == 1).astype(np.int8)
        blocked = (node.status != FREE) | (node.x <= POSITIVE)
        for variable in np.argsort(-node.x, kind="stable").tolist():
            if blocked[variable]:
                continue
            state[variable] = 1
            blocked |= self._adjacent[variable]
        self.offer(state ^ self._flip)

    def _score(self, state: np.ndarray) -> int:
        return int(self._scores.score(state[None])[0])

    def _known(self) -> Known:
        return Known.of(self.z, self.score_bound)
