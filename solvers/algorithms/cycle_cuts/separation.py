"""Separate odd-cycle inequalities: many at once by a spanning tree, or exactly by shortest paths.

An edge costs x outside of F and 1 - x in F; the inequality of a cycle is violated where its edges
cost less than 1. Two copies of the graph, joined by the edges in F, turn odd cycles through a
vertex into paths between its two copies. A cycle with a chord costs one less than the two cycles
that the chord splits it into, so one of these is violated too.

References:
    Barahona, Mahjoub (1986), On the cut polytope.
    Barahona, Grötschel, Jünger, Reinelt (1988), An application of combinatorial optimization to
    statistical physics and circuit layout design.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...compiled._kernels import cycle_cuts as kernels
from ...compiled.graphs import neighbour_lists
from ...compiled.plain import plain
from .certificate import Cycles

GO_ON = np.zeros(1, np.uint8)
"""The stop flag of a search that runs to its end."""

VIOLATED = 1e-5
"""Least violation that counts; the tolerance of the linear program is 1e-7."""


class Graph(NamedTuple):
    """Neighbours of every vertex, with the edges to them."""

    starts: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, vertices: int, edges: np.ndarray) -> Graph:
        """Return the graph of `edges [m, 2]`."""
        ends = np.ascontiguousarray(edges)
        starts, near, edge = neighbour_lists(vertices, ends)
        return cls(starts, near, edge, ends)


class ViolatedCycles(NamedTuple):
    """Violated inequalities, all distinct.

    Attributes:
        cycles: k inequalities.
        violation: `[k]`.
    """

    cycles: Cycles
    violation: np.ndarray

    def best(self, most: int) -> ViolatedCycles:
        """Return the `most` inequalities of largest violation, relative to their length."""
        if len(self.cycles) <= most:
            return self
        order = np.argsort(-self.violation / np.sqrt(self.cycles.lengths), kind="stable")[:most]
        return ViolatedCycles(self.cycles.take(order), self.violation[order])


def tree_cycles(graph: Graph, x: np.ndarray, stop: np.ndarray = GO_ON) -> ViolatedCycles:
    """Return violated cycles of one edge and a spanning tree of edges near 0 or 1.

    The search ends early when `stop[0]` is set.
    """
    forest = spanning_tree(graph, np.argsort(-np.abs(x - 0.5), kind="stable"))
    return _distinct(*kernels.fundamental_cycles(*graph, plain(x), *forest, stop))


def shortest_cycles(
    graph: Graph, x: np.ndarray, sources: np.ndarray, stop: np.ndarray = GO_ON
) -> ViolatedCycles:
    """Return a cheapest odd cycle through every source that has a violated one.

    The search ends early when `stop[0]` is set.
    """
    sources = np.ascontiguousarray(sources, np.int64)
    return _distinct(*kernels.cheapest_cycles(*graph, plain(x), sources, stop))


def spanning_tree(graph: Graph, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the forest that takes edges in `order [m]`: parents, edges to them, and depths.

    Roots have edge -1.
    """
    parent, link, depth = kernels.spanning_forest(*graph, plain(order))
    return parent, link, depth


def _distinct(
    starts: np.ndarray, edges: np.ndarray, odd: np.ndarray, cost: np.ndarray, mark: np.ndarray
) -> ViolatedCycles:
    first = np.sort(np.unique(mark, return_index=True)[1])
    first = first[cost[first] < 1.0 - VIOLATED / 2]
    cycles = Cycles(starts, edges, odd.astype(np.bool_)).take(first)
    return ViolatedCycles(cycles, 1.0 - cost[first])
