"""Branch and cut: the root is cut as long as it pays, then edges are fixed, the most promising node first.

Fixed edges join vertices; an edge between joined vertices is fixed with them. So a node either
contradicts itself or has cuts, and no bound rests on a linear program that is called infeasible.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

import numpy as np

from ...limits.deadline import Deadline
from ...limits.progress import Known
from .certificate import Certificate
from .max_cut import MaxCut
from .relaxation import Relaxation
from .separation import Found, Graph, shortest_cycles, tree_cycles
from .sides import FREE, propagate, rounded

ROUNDS = 12
"""Of separation at a node below the root, at most."""

TREE_ENOUGH = 0.1
"""Cycles of a spanning tree over edges with which shortest paths are not asked for."""

SEPARATION_SECONDS = 1e-8
"""Of a shortest path, by edges and vertices, at most."""


@dataclass(order=True)
class Node:
    """A part of the cuts.

    Attributes:
        key: minus the bound: no cut of the part weighs more.
        depth: minus the number of branchings.
        fixed: `[m]` int8, 0, 1 or FREE.
    """

    key: int
    depth: int
    fixed: np.ndarray = field(compare=False)


class BranchAndCut:
    """A search for the heaviest cut that can be stopped and resumed.

    Attributes:
        cut: the problem.
        graph: its graph.
        side: `[vertices]` int8, the best cut found.
        best: its weight.
        bound: no cut weighs more.
        certificate: of the root.
        nodes: handled so far.
    """

    def __init__(self, cut: MaxCut, side: np.ndarray):
        """Cuts nothing yet.

        Args:
            cut: with at least one edge.
            side: `[vertices]`, a cut to start from.
        """
        self.cut, self.graph = cut, Graph.of(cut.vertices, cut.edges)
        self.side, self.best = side.astype(np.int8), self._weight(side)
        self.relaxation = Relaxation(cut.weights)
        self.certificate = self.relaxation.certificate()
        self.bound = cut.rounded_down(self.certificate.value)
        self.nodes = 0
        self._open: list[Node] = []
        self._root_done = False
        self._fixed = np.full(len(cut.weights), FREE, np.int8)

    @property
    def finished(self) -> bool:
        """Whether no cut is better by more than the margin."""
        return self.bound <= self.goal

    @property
    def goal(self) -> int:
        """A part whose bound is no more is not searched."""
        return self.best + self.cut.margin

    def offer(self, side: np.ndarray) -> None:
        """Takes a cut where it is better than its own."""
        if (weight := self._weight(side)) > self.best:
            self.side, self.best = side.astype(np.int8), weight

    def cut_root(self, deadline: Deadline) -> None:
        """Adds cycles until none is violated, the bound meets the best cut, or the deadline passes."""
        while not self.finished and not self._root_done and not deadline.passed:
            deadline.tell(self._known)
            self.relaxation.fix(*_limits(self._fixed))
            if not self._separate(deadline) or not self.relaxation.solve(deadline):
                self._root_done = not deadline.passed
                return
            certificate = self.relaxation.certificate()
            self.offer(rounded(self.graph, self.relaxation.x))
            if (
                certificate.bound * self.certificate.scale
                < self.certificate.bound * certificate.scale
            ):
                self.certificate = certificate
                self.lower(self.cut.rounded_down(certificate.value))

    def lower(self, bound: int) -> None:
        """Takes a bound where it is better than its own."""
        self.bound = max(self.best, min(self.bound, bound))

    def _known(self) -> Known:
        return Known.of(self.cut.state(self.side), self.cut.score_bound(self.bound))

    def _separate(self, deadline: Deadline) -> bool:
        """Adds violated cycles to the relaxation, if there are any, or if they are found in time."""
        m = len(self.cut.weights)
        with deadline.flag(SEPARATION_SECONDS * m * self.cut.vertices) as stop:
            found = self._violated(stop).best(m)
        if len(found.cycles):
            self.relaxation.purge()
            self.relaxation.add(found.cycles)
        return bool(len(found.cycles))

    def _violated(self, stop: np.ndarray) -> Found:
        """What a spanning tree finds, or shortest paths where that is little."""
        x = self.relaxation.x
        found = tree_cycles(self.graph, x, stop)
        if len(found.cycles) >= TREE_ENOUGH * len(x):
            return found
        exact = shortest_cycles(self.graph, x, np.arange(self.cut.vertices), stop)
        return exact if len(exact.cycles) else found

    def search(self, deadline: Deadline, nodes: float = np.inf) -> None:
        """Branches until all is searched, or the deadline passes, or for so many nodes."""
        last = self.nodes + nodes
        if not self._open and not self.finished:
            if not self._tighten(self.certificate, self._fixed):
                self.lower(self.goal)
            self._open = [Node(-self.bound, 0, self._fixed)]
        while not self.finished and self.nodes < last and not deadline.passed:
            deadline.tell(self._known)
            node = heapq.heappop(self._open)
            children = self._children(node, deadline)
            for child in children:
                heapq.heappush(self._open, child)
            self.lower(max((-self._open[0].key, self.goal) if self._open else (self.goal,)))

    def _children(self, node: Node, deadline: Deadline) -> list[Node]:
        """What is left of a node: itself where time was up, nothing where it holds no better cut."""
        self.nodes += 1
        fixed, bound = node.fixed.copy(), -node.key
        self.relaxation.fix(*_limits(fixed))
        for _ in range(ROUNDS):
            if not self.relaxation.solve(deadline):
                break
            self.offer(rounded(self.graph, self.relaxation.x))
            certificate = self.relaxation.certificate()
            bound = min(bound, self.cut.rounded_down(certificate.value))
            if bound <= self.goal or not self._tighten(certificate, fixed):
                return []
            if not self._separate(deadline):
                break
        if deadline.passed:
            return [Node(-bound, node.depth, fixed)]
        return self._branches(bound, node.depth - 1, fixed)

    def _tighten(self, certificate: Certificate, fixed: np.ndarray) -> bool:
        """Fixes what all better cuts of a node agree on; False where they contradict each other."""
        inside, outside = certificate.decided(self.goal)
        fixed[(fixed == FREE) & inside], fixed[(fixed == FREE) & outside] = 1, 0
        return bool(propagate(self.cut.vertices, self.graph.ends, fixed))

    def _branches(self, bound: int, depth: int, fixed: np.ndarray) -> list[Node]:
        free = np.flatnonzero(fixed == FREE)
        if not len(free):
            self.offer(rounded(self.graph, fixed))
            return []
        distance = np.abs(self.relaxation.x[free] - 0.5)
        edge = free[
            np.argmin(distance - 1e-3 * np.abs(self.cut.weights[free]) / self.relaxation.unit)
        ]
        children = []
        for value in (0, 1):
            child = fixed.copy()
            child[edge] = value
            if propagate(self.cut.vertices, self.graph.ends, child):
                children.append(Node(-bound, depth, child))
        return children

    def _weight(self, side: np.ndarray) -> int:
        ends = self.cut.edges
        return int(self.cut.weights[side[ends[:, 0]] != side[ends[:, 1]]].sum())


def _limits(fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`[m]` each: the bounds of the edges."""
    return np.where(fixed == FREE, 0, fixed), np.where(fixed == FREE, 1, fixed)
