"""PyMaxflow, Boykov and Kolmogorov's maximum flow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Int

from ..algorithms.max_flow.supermodular_flips import after_flips, why_no_flips
from ..algorithms.precision.fixed_point import TOTAL_BITS, FixedPoint
from ..arrays import Scores, States
from ..limits.deadline import uncounted
from ..problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

LONG_BITS = 8 * np.dtype("l").itemsize
"""Of PyMaxflow's whole numbers; 32 on Windows."""

INSTANCES = 1 << (63 - TOTAL_BITS - 2)
"""Of one graph at most: a flow is at most twice the integer scores of an instance, and its total has to fit."""

GRAPH = 1 << 22
"""Nodes and edges of one graph, if it has several instances: some 300 MiB."""


@dataclass(frozen=True)
class Pymaxflow(ArgmaxSolver):
    """Exact for supermodular problems (every pairwise score >= 0, if need be after bit flips), by PyMaxflow.

    The batch is one graph, whose parts no edge joins, or one for every 128 instances or four
    million nodes and edges. Scores are integers (`FixedPoint`): cuts that weigh as much as the flow
    are minimum, and what they weigh more, if they did, is added to every bound. PyMaxflow's licence
    is the GPL; it is not installed along.

    References:
        Boykov, Kolmogorov (2004), An experimental comparison of min-cut/max-flow algorithms for
        energy minimization in vision.
    """

    name = "pymaxflow"
    capabilities = Capabilities(
        exact=True,
        supermodular_only=True,
        packages=("maxflow",),
        install="pip install 'structured-vae[pymaxflow]' (PyMaxflow's licence is the GPL)",
    )

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """Empty also where bit flips make every pairwise score >= 0."""
        short = f"whole numbers of PyMaxflow have {LONG_BITS} bits on this system and it needs 64"
        reasons = super().why_not(problem)
        unbalanced = why_no_flips(problem) if reasons else ()
        return (
            *(reasons if unbalanced else ()),
            *unbalanced,
            *((short,) if LONG_BITS < 64 else ()),
        )

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        return after_flips(problem, _in_graphs, graphs=len(_parts(problem)))


def _in_graphs(problem: Problem) -> tuple[States, Scores]:
    """The maximisers `[batch, n]` of supermodular instances, and the bounds `[batch]` that prove them."""
    scores = FixedPoint.of(problem)
    found = [
        _minimum_cuts(replace(scores, unary=scores.unary[part], pairwise=scores.pairwise[part]))
        for part in _parts(problem)
    ]
    z, bound = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return z, scores.bound(bound)


def _parts(problem: Problem) -> list[slice]:
    """The instances of each graph."""
    size = min(INSTANCES, max(1, GRAPH // (problem.n + problem.e)))
    return [slice(first, first + size) for first in range(0, problem.batch, size)]


def _minimum_cuts(
    scores: FixedPoint,
) -> tuple[Int[np.ndarray, "batch n"], Int[np.ndarray, "batch"]]:
    """The maximisers of instances that are one graph, and what proves them: bounds on their integer scores.

    2 score(z) = sum_i b_i z_i - sum_(i,j) w_ij |z_i - z_j|, with b_i = 2 u_i + sum_j w_ij, is
    what the arcs from the source weigh less a cut. All cuts together weigh as much as the flow if
    each is minimum.
    """
    balance = 2 * scores.unary
    for end in scores.edges.T:
        np.add.at(balance.T, end, scores.pairwise.T)
    z, flow = _cut(balance, scores.pairwise, scores.edges)
    score = scores.score(z)
    gap = int(np.maximum(balance, 0).sum()) - flow - 2 * int(score.sum())
    return z, score + (gap + 1) // 2


def _cut(balance: np.ndarray, weights: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """The source's side of a minimum cut, int8 `[batch, n]`, and the flow."""
    graph = _new_graph(balance.size, weights.size)
    nodes = graph.add_grid_nodes(balance.shape)
    graph.add_grid_tedges(nodes, np.maximum(balance, 0), np.maximum(-balance, 0))
    if weights.size:
        ends = nodes[:, edges]  # [batch, e, 2]
        graph.add_edges(
            ends[..., 0].ravel(), ends[..., 1].ravel(), weights.ravel(), weights.ravel()
        )
    flow = graph.maxflow()
    return (~graph.get_grid_segments(nodes)).astype(np.int8), flow


def _new_graph(nodes: int, edges: int) -> Any:
    with uncounted():
        import maxflow
    return maxflow.Graph[int](nodes, edges)
