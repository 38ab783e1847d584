"""Branch and cut: cut the root as long as it pays, then fix edges, the best node first.

Fixed edges join vertices; an edge between joined vertices is fixed with them. So a node either
contradicts itself or contains cuts, and no bound relies on a linear program reported as infeasible.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ...limits.deadline import Deadline
from ...limits.progress import Known
from .certificate import Certificate
from .max_cut import MaxCut
from .relaxation import Relaxation
from .separation import Graph, ViolatedCycles, shortest_cycles, tree_cycles
from .sides import FREE, propagate, rounded

ROUNDS = 12
"""Maximum rounds of separation at a node below the root."""

TREE_ENOUGH = 0.1
"""Cycles of a spanning tree, as a share of the edges, that make shortest paths unnecessary."""

SEPARATION_SECONDS = 1e-8
"""Maximum time of a shortest path, per edge and vertex."""


@dataclass(order=True)
class Node:
    """A subset of the cuts: those with some fixed edges.

    Attributes:
        key: minus the bound, which no cut of the subset exceeds.
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
        side: `[vertices]` int8, the best cut so far.
        best: the weight of the best cut so far.
        bound: an upper bound on the weight of all cuts.
        certificate: the certificate of the root.
        nodes: number of nodes that were handled so far.
        root_done: whether only branching can continue, since no cycle is violated at the root.
    """

    def __init__(
        self,
        cut: MaxCut,
        side: np.ndarray,
        improve: Callable[[BranchAndCut], None] = lambda search: None,
    ):
        """Prepare the search without handling any node.

        Args:
            cut: a problem with at least one edge.
            side: `[vertices]`, a cut to start from.
            improve: called again and again during the search, to offer better cuts.
        """
        self._improve = improve
        self.cut = cut
        self.graph = Graph.of(cut.vertices, cut.edges)
        self.side = side.astype(np.int8)
        self.best = self._weight(side)
        self.relaxation = Relaxation(cut.weights)
        self.certificate = self.relaxation.certificate()
        self.bound = cut.rounded_down(self.certificate.value)
        self.nodes = 0
        self._open: list[Node] = []
        self.root_done = False
        self._has_cycles = False
        self._fixed = np.full(len(cut.weights), FREE, np.int8)

    @property
    def finished(self) -> bool:
        """Whether no cut is better by more than the margin."""
        return self.bound <= self.goal

    @property
    def goal(self) -> int:
        """The largest bound at which a node is not searched."""
        return self.best + self.cut.margin

    def offer(self, side: np.ndarray) -> None:
        """Keep a cut if it is better than the best one."""
        if (weight := self._weight(side)) > self.best:
            self.side = side.astype(np.int8)
            self.best = weight

    def cut_root(self, deadline: Deadline) -> None:
        """Add cycles until none is violated, the gap is closed, or the deadline passes."""
        while not self.finished and not self.root_done and not deadline.passed:
            deadline.tell(self._known)
            self.relaxation.fix(*_limits(self._fixed))
            # Cycles of an earlier call wait if the deadline cut off the relaxation.
            self._has_cycles = self._has_cycles or self._separate(deadline)
            # Without a violated cycle, or if the relaxation fails, only branching can continue.
            if not self._has_cycles or not self._solve(deadline):
                self.root_done = not deadline.passed
                return
            self._has_cycles = False
            certificate = self.relaxation.certificate()
            self.offer(rounded(self.graph, self.relaxation.x))
            # Two certificates in different units: compare b
            # / s by cross-multiplication in exact integers.
            scaled = certificate.bound * self.certificate.scale
            if scaled < self.certificate.bound * certificate.scale:
                self.certificate = certificate
                self.lower(self.cut.rounded_down(certificate.value))

    def lower(self, bound: int) -> None:
        """Lower the bound, if the new one is better."""
        self.bound = max(self.best, min(self.bound, bound))

    def _solve(self, deadline: Deadline) -> bool:
        """Solve the relaxation, and look for better cuts meanwhile."""
        return self.relaxation.solve(deadline, lambda: self._improve(self))

    def _known(self) -> Known:
        return Known.of(self.cut.state(self.side), self.cut.score_bound(self.bound))

    def _separate(self, deadline: Deadline) -> bool:
        """Add violated cycles to the relaxation; return whether there were any in time."""
        m = len(self.cut.weights)
        with deadline.flag(SEPARATION_SECONDS * m * self.cut.vertices) as stop:
            violated = self._violated(stop).best(m)
        if len(violated.cycles):
            self.relaxation.purge()
            self.relaxation.add(violated.cycles)
        return bool(len(violated.cycles))

    def _violated(self, stop: np.ndarray) -> ViolatedCycles:
        """Return the violated cycles of a spanning tree, or those of shortest paths if few."""
        x = self.relaxation.x
        quick = tree_cycles(self.graph, x, stop)
        if len(quick.cycles) >= TREE_ENOUGH * len(x):
            return quick
        exact = shortest_cycles(self.graph, x, np.arange(self.cut.vertices), stop)
        if len(exact.cycles):
            return exact
        return quick

    def search(self, deadline: Deadline, nodes: float = np.inf) -> None:
        """Branch until the search ends, the deadline passes, or `nodes` nodes are handled."""
        last = self.nodes + nodes
        if not self._open and not self.finished:
            # Fixing by reduced costs may already contradict itself: no cut beats the goal.
            if not self._tighten(self.certificate, self._fixed):
                self.lower(self.goal)
            self._open = [Node(-self.bound, 0, self._fixed)]
        while not self.finished and self.nodes < last and not deadline.passed:
            deadline.tell(self._known)
            node = heapq.heappop(self._open)
            children = self._children(node, deadline)
            for child in children:
                heapq.heappush(self._open, child)
            # The best open node bounds all cuts that are not searched yet.
            highest = self.goal
            if self._open:
                highest = max(highest, -self._open[0].key)
            self.lower(highest)

    def _children(self, node: Node, deadline: Deadline) -> list[Node]:
        """Return the children of a node; the node itself after the deadline, or none if pruned."""
        self.nodes += 1
        fixed = node.fixed.copy()
        bound = -node.key
        self.relaxation.fix(*_limits(fixed))
        for _ in range(ROUNDS):
            if not self._solve(deadline):
                break
            self.offer(rounded(self.graph, self.relaxation.x))
            certificate = self.relaxation.certificate()
            bound = min(bound, self.cut.rounded_down(certificate.value))
            # No cut of this node can beat the incumbent.
            if bound <= self.goal or not self._tighten(certificate, fixed):
                return []
            if not self._separate(deadline):
                break
        # The node goes back to the queue with its improved bound.
        if deadline.passed:
            return [Node(-bound, node.depth, fixed)]
        return self._branches(bound, node.depth - 1, fixed)

    def _tighten(self, certificate: Certificate, fixed: np.ndarray) -> bool:
        """Fix edges on which all better cuts of a node agree; return False on a contradiction."""
        inside, outside = certificate.decided(self.goal)
        fixed[(fixed == FREE) & inside] = 1
        fixed[(fixed == FREE) & outside] = 0
        return bool(propagate(self.cut.vertices, self.graph.ends, fixed))

    def _branches(self, bound: int, depth: int, fixed: np.ndarray) -> list[Node]:
        free = np.flatnonzero(fixed == FREE)
        if not len(free):
            self.offer(rounded(self.graph, fixed))
            return []
        # Branch on the edge nearest to 1/2, and of those nearly equal on the heaviest.
        distance = np.abs(self.relaxation.x[free] - 0.5)
        weight = np.abs(self.cut.weights[free]) / self.relaxation.unit
        edge = free[np.argmin(distance - 1e-3 * weight)]
        children = []
        for value in (0, 1):
            child = fixed.copy()
            child[edge] = value
            # Cycles force further edges; a contradiction means that the child has no cut.
            if propagate(self.cut.vertices, self.graph.ends, child):
                children.append(Node(-bound, depth, child))
        return children

    def _weight(self, side: np.ndarray) -> int:
        ends = self.cut.edges
        return int(self.cut.weights[side[ends[:, 0]] != side[ends[:, 1]]].sum())


def _limits(fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and upper bounds of the edges, `[m]` each."""
    low = np.where(fixed == FREE, 0, fixed)
    high = np.where(fixed == FREE, 1, fixed)
    return low, high
