"""Roof duality: variables fixed, and an upper bound, by one minimum cut with two nodes a variable.

With x_i = z_i and y_i = 1 - z_i, twice the score of z is

    F(x, y) = sum_i unary_i (1 + x_i - y_i)
            + sum_(w > 0) w (1 - y_i - y_j + x_i x_j + y_i y_j)
            + sum_(w < 0) w (x_i + x_j - x_i y_j - y_i x_j),

which is supermodular in (x, y). Its maximum over all (x, y) is twice the roof-dual bound. Where every
maximiser of F has x_i = 1, y_i = 0 (or 0, 1), every maximiser of the score has z_i = 1 (or 0): strong
persistency.

References:
    Hammer, Hansen, Simeone (1984), Roof duality, complementation and persistency in quadratic 0-1
    optimization.
    Boros, Hammer (2002), Pseudo-Boolean optimization.
    Rother, Kolmogorov, Lempitsky, Szummer (2007), Optimizing binary MRFs via extended roof duality.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from .fixed_point import FixedPoint
from .problem import Problem

INSTANCES_A_GRAPH = 32
"""2^5 instances of flow up to 2^57 each: twice as many nodes as in `max_flow`, and twice the score."""


@dataclass(frozen=True, eq=False)
class RoofDuality:
    """What roof duality proves of each instance.

    Attributes:
        fixed: `[batch, n]`: 0 or 1 where every maximiser has this value, else -1. Maximisers are meant
            of the scores in fixed point, whose rounding moves a score by less than `Problem.rounding`;
            they are the given ones where 54 bits hold the scores of an instance.
        bound: `[batch]`: no score is larger.
    """

    fixed: Int[np.ndarray, "batch n"]
    bound: Float[np.ndarray, "batch"]


def roof_duality(problem: Problem) -> RoofDuality:
    """The variables that roof duality fixes, and its bound, by max-flow with integer capacities.

    Args:
        problem: of any signs, coefficients on the host.

    Example:
        >>> problem = Problem.from_arrays([4.0, -1.0, 1.0], [-2.0, 1.0], edges=[[0, 1], [1, 2]])
        >>> roof = roof_duality(problem)
        >>> roof.fixed.tolist(), roof.bound.tolist()
        ([[1, 0, 1]], [5.0])
    """
    scores = FixedPoint.of(problem)
    starts = range(0, problem.batch, INSTANCES_A_GRAPH)
    parts = [_cut(scores, slice(start, start + INSTANCES_A_GRAPH)) for start in starts]
    return RoofDuality(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _cut(scores: FixedPoint, instances: slice) -> tuple[np.ndarray, np.ndarray]:
    """The values `[part, n]` and the bounds `[part]` of some instances, from one block-diagonal graph.

    As c x y = (c/2)(x + y) - (c/2)|x - y|, with terminal_i = 2 unary_i + sum_j w_ij,

        2 F = constant + sum_i terminal_i (x_i - y_i) - the |w| of the edges that are cut,
        constant = 2 (sum unary + sum_(w > 0) w);

    an edge w > 0 joins x_i with x_j and y_i with y_j; one of w < 0 joins x_i with y_j and y_i with x_j.
    """
    unary, pairwise, edges = scores.unary[instances], scores.pairwise[instances], scores.edges
    batch, n = unary.shape
    terminal = 2 * unary
    for side in (0, 1):
        np.add.at(terminal.T, edges[:, side], pairwise.T)
    import maxflow  # PyMaxflow

    graph = maxflow.Graph[int](2 * batch * n, 2 * batch * len(edges))
    nodes = graph.add_grid_nodes((batch, 2, n))
    both = np.stack([terminal, -terminal], axis=1)
    graph.add_grid_tedges(nodes, np.maximum(both, 0), np.maximum(-both, 0))
    crossed = pairwise < 0
    for side in (0, 1):
        first = nodes[:, side, edges[:, 0]]
        second = np.where(crossed, nodes[:, 1 - side, edges[:, 1]], nodes[:, side, edges[:, 1]])
        present = pairwise != 0
        capacity = np.abs(pairwise[present])
        graph.add_edges(first[present], second[present], capacity, capacity)
    flow = graph.maxflow()
    states = (~graph.get_grid_segments(nodes)).astype(np.int64)
    x, y = states[:, 0], states[:, 1]
    constant = 2 * (unary.sum(axis=1) + np.maximum(pairwise, 0).sum(axis=1))
    quadruple = constant + (terminal * (x - y)).sum(axis=1) - _cut_weight(pairwise, edges, states)
    # By weak duality no labelling beats constant + sum |terminal| - flow; a minimum cut attains it.
    slack = int(constant.sum()) + int(np.abs(terminal).sum()) - flow - int(quadruple.sum())
    # Four times the integer score is at most this, so the score is at most the quotient rounded down.
    bound = (quadruple + slack) // 4
    part = FixedPoint(unary, pairwise, edges, scores.unit[instances], scores.error[instances])
    return np.where(x == y, -1, x).astype(np.int8), _rounded_up(part, bound)


def _cut_weight(pairwise: np.ndarray, edges: np.ndarray, states: np.ndarray) -> np.ndarray:
    """`[part]`: the weight of the doubled edges between different states `[part, 2, n]`."""
    first, second = states[:, :, edges[:, 0]], states[:, :, edges[:, 1]]
    partner = np.where(pairwise[:, None] < 0, second[:, ::-1], second)
    weight: np.ndarray = (np.abs(pairwise) * (first != partner).sum(axis=1)).sum(axis=1)
    return weight


def _rounded_up(scores: FixedPoint, bound: np.ndarray) -> np.ndarray:
    """The true bound; moved up past the roundings of `FixedPoint.bound` where there were any."""
    nearest: np.ndarray = scores.bound(bound)
    above = nearest
    for _ in range(4):
        above = np.nextafter(above, np.inf)
    exact = (scores.error == 0) & (bound.astype(np.float64).astype(np.int64) == bound)
    return np.where(exact, nearest, above)
