"""Represent instances without fields: spins whose edges prefer like or unlike, in exact integers.

With s_i = 1 where z_i = z_0, else -1, for one more node 0 that is always 1,

    4 score(z) = constant + sum_edges weight s_i s_j,  weight_ij = pairwise_ij,
    weight_i0 = 2 unary_i + sum_j pairwise_ij,  constant = 2 sum unary + sum pairwise.

Flipping all spins changes nothing, so any node may be the one that is 1. The weights at each node
of such a graph add up to an even number: that keeps every rule of `rules` in integers.

References:
    Barahona, Juenger, Reinelt (1989), Experiments in quadratic 0-1 programming: maximum cut and
    quadratic programs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jaxtyping import Int


@dataclass(frozen=True, eq=False)
class SpinGraph:
    """The sum over edges of weight_ij s_i s_j for spins +1 and -1, as a graph.

    The weights at every node add up to an even number.

    Attributes:
        nodes: number of nodes.
        edges: `[e, 2]`, distinct.
        weight: `[e]`, never 0.
    """

    nodes: int
    edges: Int[np.ndarray, "e 2"]
    weight: Int[np.ndarray, "e"]

    @classmethod
    def of_scores(
        cls, unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray
    ) -> tuple[SpinGraph, int]:
        """Return the graph of an instance, whose last node stands for the field, and the constant.

        Args:
            unary: `[n]` int64.
            pairwise: `[e]` int64.
            edges: `[e, 2]`.

        Example:
            >>> unary, pairwise, edges = np.array([1, -2]), np.array([3]), np.array([[0, 1]])
            >>> graph, constant = SpinGraph.of_scores(unary, pairwise, edges)
            >>> graph.edges.tolist(), graph.weight.tolist(), constant
            ([[0, 1], [0, 2], [1, 2]], [3, 5, -1], 1)
        """
        # With z = (1 + s) / 2, spin i feels 2 unary_i + sum_j w_ij, in units of a quarter.
        field = 2 * unary
        for side in (0, 1):
            np.add.at(field, edges[:, side], pairwise)
        inside = np.flatnonzero(pairwise)
        outside = np.flatnonzero(field)
        spokes = np.stack((outside, np.full(len(outside), len(unary))), axis=1)
        weight = np.concatenate((pairwise[inside], field[outside]))
        constant = 2 * int(unary.sum()) + int(pairwise.sum())
        return cls(len(unary) + 1, np.concatenate((edges[inside], spokes)), weight), constant

    def without_noise(self, unit: int) -> tuple[SpinGraph, int]:
        """Return the graph without the fields that rounding to `unit` makes, and their sum.

        A field of zero, as that of a cut, becomes the rounding of all weights at a node and of its
        unary score. It would join all nodes with the last one. All weights have to be even.

        Example:
            >>> scores = np.array([-10, -8]), np.array([18]), np.array([[0, 1]])
            >>> graph, dropped = SpinGraph.of_scores(*scores)[0].without_noise(2)
            >>> graph.edges.tolist(), dropped
            ([[0, 1]], 4)
        """
        spoke = self.edges[:, 1] == self.nodes - 1
        degree = np.bincount(self.edges.ravel(), minlength=self.nodes)[self.edges[:, 0]]
        noise = spoke & (np.abs(self.weight) <= 2 * unit * degree)
        dropped = int(np.abs(self.weight[noise]).sum())
        return SpinGraph(self.nodes, self.edges[~noise], self.weight[~noise]), dropped

    def scores(self, reference: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Return scores, edges and constant of the problem in z_i = (s_i == s_reference).

        The unary scores are `[m]`, the pairwise ones `[k]`, the edges `[k, 2]`. The sum over the
        edges is 4 score(z) - constant. The variables are the other nodes, in their order.
        """
        spoke = (self.edges == reference).any(axis=1)
        edges = self.edges[~spoke]
        pairwise = self.weight[~spoke]
        field = np.zeros(self.nodes, np.int64)
        # The sum of both ends less the reference is the other end.
        field[self.edges[spoke].sum(axis=1) - reference] = self.weight[spoke]
        for side in (0, 1):
            np.subtract.at(field, edges[:, side], pairwise)
        unary = np.delete(field, reference) // 2
        constant = 2 * int(unary.sum()) + int(pairwise.sum())
        return unary, pairwise, edges - (edges > reference), constant

    def busiest(self) -> int:
        """Return the reference to use: the node of most edges, and then of largest weight.

        Without the node of most edges, the remaining graph is the sparsest. The linear relaxation
        of the products has the triangle inequalities of the reference alone, so it is tightest
        where that node is strongly coupled. On dense problems, where all nodes have equally many
        edges, CPLEX takes 3 to 8 times as long from an arbitrary reference.

        Of equals it is the last one, which is the reference of `of_scores`. So a graph that no rule
        shrinks keeps the numbers of its nodes, however often a backend reduces it.
        """
        ends = self.edges.ravel()
        degree = np.bincount(ends, minlength=self.nodes)
        coupling = np.bincount(ends, np.repeat(np.abs(self.weight), 2), self.nodes)
        return int(np.lexsort((coupling, degree))[-1])
