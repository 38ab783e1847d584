"""Pass sum-product messages along weighted edges, to bound or estimate log Z.

Any graph is allowed.

An edge e = (i, j) of weight r_e sends log messages m_i(a) and m_j(b). With them

    u_i(a) = score_i(a) + sum_e r_e m_i(a),    g_e(a, b) = score_e(a, b) / r_e - m_i(a) - m_j(b),

so that score = sum_i u_i + sum_e r_e g_e for any messages. Let every variable choose one of its
edges to variables later in some order, with the probabilities r_e, which add up to one. The chosen
edges form a forest. The score is the mean over forests of sum_i u_i plus the sum of g_e over the
forest's edges. Since log Z is convex, the mean of the forests' log Z is an upper bound (tree
reweighting). A pass in that order also gives an upper bound, with Hoelder's inequality at every
variable in place of the mean. A variable with the total s(a) sends r_e log sum_a exp(g_e(a, b) +
s(a)) to value b at the other end. If a message equals the sum that it represents, this is a
constant, which suffices for the bound.

With weights of one the messages are those of loopy belief propagation.

References:
    Wainwright, Jaakkola, Willsky (2005), A new class of upper bounds on the log partition function.
    Globerson, Jaakkola (2007), Convergent propagation algorithms via oriented trees.
    Liu, Ihler (2011), Bounding the partition function using Hoelder's inequality.
    Yedidia, Freeman, Weiss (2005), Constructing free-energy approximations and generalized belief
    propagation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...compiled._kernels import labels as kernels
from ...compiled.graphs import neighbour_lists, sides_of
from ..problem import LabelProblem


@dataclass(frozen=True, eq=False)
class Tree:
    """Graph of an instance with its scores and an order of the variables.

    Attributes:
        kernel: the same data in the form that the kernels take.
        near: `[2 e]`, the neighbours of every variable, one list after the other.
        edge: `[2 e]`, the edges to these neighbours.
        owner: `[2 e]`, the variables whose neighbours they are.
        place: `[n]`, the place of each variable in the order.
    """

    kernel: kernels.Tree
    near: np.ndarray
    edge: np.ndarray
    owner: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, problem: LabelProblem) -> Tree:
        """Return the graph of a host problem of one instance."""
        problem = problem.dense()
        starts, near, edge = neighbour_lists(problem.n, problem.topology.pairs)
        side = sides_of(starts, edge, problem.topology.pairs)
        order = kernels.roots_last(starts, near)
        place = np.argsort(order)
        tables = np.ascontiguousarray(problem.tables[0], np.float64)
        if problem.weights is None:
            factors = np.ones(problem.e)
        else:
            factors = problem.weights[0].astype(np.float64)
        equal = len(tables) == 1 and bool(
            (tables[0] == np.eye(problem.k)).all() and (factors >= 0).all()
        )
        sizes, table_of = (
            np.ascontiguousarray(a, np.int64) for a in (problem.sizes, problem.table_of)
        )
        lists = starts, near, edge, side, order, place, sizes
        kernel = kernels.Tree(*lists, tables, table_of, factors, equal)
        owner = np.repeat(np.arange(problem.n), np.diff(starts))
        return cls(kernel, near, edge, owner, place)

    def forest_weights(self) -> np.ndarray:
        """Return `[e]`: the probability that a random forest has each edge.

        Every variable chooses uniformly among its edges to later variables.
        """
        weights = np.ones(len(self.edge) // 2)
        later = self.place[self.near] > self.place[self.owner]
        count = np.bincount(self.owner[later], minlength=len(self.place))
        weights[self.edge[later]] = 1.0 / count[self.owner[later]]
        return weights
