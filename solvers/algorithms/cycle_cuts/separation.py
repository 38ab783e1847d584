"""Violated odd-cycle inequalities: a spanning tree finds many at once, shortest paths find one if there is one.

An edge costs x outside of F and 1 - x in F; the inequality of a cycle is violated where it costs
less than 1. Two copies of the graph, joined by the edges in F, turn odd cycles through a vertex
into paths between its copies. A cycle with a chord costs one less than the two cycles that the
chord makes of it, one of which is violated too.

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
"""The flag of a search without an end."""

VIOLATED = 1e-5
"""Least violation that counts: the linear program's own tolerance is 1e-7."""


class Graph(NamedTuple):
    """Neighbours of every vertex, with the edges to them."""

    starts: np.ndarray
    near: np.ndarray
    edge: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, vertices: int, edges: np.ndarray) -> Graph:
        """The graph of `edges [m, 2]`."""
        ends = np.ascontiguousarray(edges)
        starts, near, edge = neighbour_lists(vertices, ends)
        return cls(starts, near, edge, ends)


class Found(NamedTuple):
    """Violated inequalities, none twice.

    Attributes:
        cycles: k inequalities.
        violation: `[k]`.
    """

    cycles: Cycles
    violation: np.ndarray

    def best(self, most: int) -> Found:
        """The most violated, relative to their length."""
        if len(self.cycles) <= most:
            return self
        order = np.argsort(-self.violation / np.sqrt(self.cycles.lengths), kind="stable")[:most]
        return Found(self.cycles.take(order), self.violation[order])


def tree_cycles(graph: Graph, x: np.ndarray, stop: np.ndarray = GO_ON) -> Found:
    """Cycles of a spanning tree whose edges are near 0 or 1, and one more edge; those found until `stop[0]`."""
    forest = spanning_tree(graph, np.argsort(-np.abs(x - 0.5), kind="stable"))
    return _distinct(*kernels.fundamental_cycles(*graph, plain(x), *forest, stop))


def shortest_cycles(
    graph: Graph, x: np.ndarray, sources: np.ndarray, stop: np.ndarray = GO_ON
) -> Found:
    """A cheapest odd cycle through every source that has a violated one; those found until `stop[0]`."""
    return _distinct(
        *kernels.cheapest_cycles(*graph, plain(x), np.ascontiguousarray(sources, np.int64), stop)
    )


def spanning_tree(graph: Graph, order: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The forest that takes edges in `order [m]`, as parents, edges to them (-1 at roots) and depths."""
    parent, link, depth = kernels.spanning_forest(*graph, plain(order))
    return parent, link, depth


def _distinct(
    starts: np.ndarray, edges: np.ndarray, odd: np.ndarray, cost: np.ndarray, mark: np.ndarray
) -> Found:
    first = np.sort(np.unique(mark, return_index=True)[1])
    first = first[cost[first] < 1.0 - VIOLATED / 2]
    return Found(Cycles(starts, edges, odd.astype(np.bool_)).take(first), 1.0 - cost[first])
