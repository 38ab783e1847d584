"""Supermodular problems as minimum cuts.

References:
    Boykov, Kolmogorov (2004), An experimental comparison of min-cut/max-flow algorithms.
    Kolmogorov, Zabih (2004), What energy functions can be minimized via graph cuts?
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .arrays import Scores, States, to_numpy
from .fixed_point import FixedPoint
from .problem import Problem
from .solver import ArgmaxSolver, Capabilities, Maximiser

WORD_BITS = 62  # `word_flow.MAX_NODES`, known without importing numba
INSTANCES_A_GRAPH = 64  # 2^6 instances of flow up to 2^55 each: their sum fits 63 bits with room


class MaxFlow(ArgmaxSolver):
    """Exact for supermodular problems (every pairwise score >= 0, if need be after bit flips), at any size.

    Since w z_i z_j = (w/2)(z_i + z_j) - (w/2)|z_i - z_j|, a maximiser is a minimum cut between the ones
    and the zeros. Up to 62 variables a compiled kernel cuts the instances one by one; beyond, PyMaxflow
    takes the batch as block-diagonal graphs with integer capacities (`FixedPoint`), so that flow and
    certificate are exact.
    """

    name = "max_flow"
    capabilities = Capabilities(
        exact=True, supermodular_only=True, packages=("maxflow",), install="pip install PyMaxflow"
    )

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """Empty also where signs are balanced: bit flips then make every pairwise score >= 0."""
        reasons = super().why_not(problem)
        if not reasons:
            return ()
        from .balanced import supermodular_flips  # numba takes a while to import

        _, balanced = supermodular_flips(to_numpy(problem.pairwise), problem.edges, problem.n)
        if balanced.all():
            return ()
        instance = int(np.argmin(balanced))
        return (*reasons, f"no bit flips change that: the signs of instance {instance} are frustrated")

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        if problem.negative_pair() is None:
            return Maximiser(*_minimum_cut(problem))
        from .balanced import flipped, supermodular_flips

        flips, _ = supermodular_flips(problem.pairwise, problem.edges, problem.n)
        unary, pairwise, constant = flipped(problem.unary, problem.pairwise, problem.edges, flips)
        z, bound = _minimum_cut(replace(problem, unary=unary, pairwise=pairwise))
        return Maximiser(z ^ flips, bound + constant, {"flipped": int(flips.sum())})


def _minimum_cut(problem: Problem) -> tuple[States, Scores]:
    """The maximisers `[batch, n]` of supermodular instances, and the bounds `[batch]` that prove them."""
    if problem.n <= WORD_BITS:
        from .word_flow import word_flow_argmax  # numba takes a while to import

        return word_flow_argmax(problem.unary, problem.pairwise, problem.edges)
    scores = FixedPoint.of(problem)
    starts = range(0, problem.batch, INSTANCES_A_GRAPH)
    parts = [_cut(scores, slice(start, start + INSTANCES_A_GRAPH)) for start in starts]
    z = np.concatenate([part for part, _ in parts]).astype(np.int8)
    slack = np.concatenate([np.full(len(part), gap) for part, gap in parts])
    return z, scores.bound(scores.score(z) + slack)


def _cut(scores: FixedPoint, instances: slice) -> tuple[np.ndarray, int]:
    """The minimum cut of some instances, and by how much their total score misses its bound.

    Capacities are twice the integer scores, so that w/2 is an integer. By weak duality
    2 score(z) <= sum_i max(a_i, 0) - flow, with equality where the cut is minimum.
    """
    unary, pairwise, edges = scores.unary[instances], scores.pairwise[instances], scores.edges
    batch, n = unary.shape
    terminal = 2 * unary
    for side in (0, 1):
        np.add.at(terminal.T, edges[:, side], pairwise.T)
    import maxflow  # PyMaxflow

    graph = maxflow.Graph[int](batch * n, batch * len(edges))
    nodes = graph.add_grid_nodes((batch, n))
    graph.add_grid_tedges(nodes, np.maximum(terminal, 0), np.maximum(-terminal, 0))
    if len(edges):
        capacity = pairwise.ravel()
        graph.add_edges(nodes[:, edges[:, 0]].ravel(), nodes[:, edges[:, 1]].ravel(), capacity, capacity)
    flow = graph.maxflow()
    z = ~graph.get_grid_segments(nodes)
    part = FixedPoint(unary, pairwise, edges, scores.unit[instances], scores.error[instances])
    gap = int(np.maximum(terminal, 0).sum()) - flow - 2 * int(part.score(z).sum())
    return z, gap
