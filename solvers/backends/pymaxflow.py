"""Solve supermodular problems with PyMaxflow, Boykov and Kolmogorov's maximum flow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..algorithms.max_flow.supermodular_flips import after_flips, why_no_flips
from ..algorithms.precision.fixed_point import TOTAL_BITS, FixedPoint
from ..arrays import Scores, States
from ..limits.deadline import Deadline, uncounted
from ..problems.problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

if TYPE_CHECKING:
    from jaxtyping import Int

LONG_BITS = 8 * np.dtype("l").itemsize
"""Bits of PyMaxflow's whole numbers; 32 on Windows."""

INSTANCES = 1 << (63 - TOTAL_BITS - 2)
"""Maximum number of instances in one graph.

A flow is at most twice the integer scores of an instance, and the sum of the flows has to fit."""

GRAPH = 1 << 22
"""Maximum number of nodes and edges of a graph with several instances: some 300 MiB."""


@dataclass(frozen=True)
class Pymaxflow(ArgmaxSolver):
    """Exact solver of supermodular problems (pairwise scores >= 0, after bit flips if needed).

    The batch is one graph of separate components, or one for every 128 instances or four million
    nodes and edges. Scores are integers (`FixedPoint`): cuts that weigh as much as the flow are
    minimum, and any excess is added to every bound. PyMaxflow's licence is the GPL, so it is not
    installed with this package.

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
        """Return why the solver cannot take a problem: no bit flips make every pair score >= 0."""
        reasons = super().why_not(problem)
        if reasons:
            # Flips may make a problem supermodular that is not so as it stands.
            unbalanced = why_no_flips(problem)
            if unbalanced:
                reasons = (*reasons, *unbalanced)
            else:
                reasons = ()
        if LONG_BITS < 64:
            short = (
                f"whole numbers of PyMaxflow have {LONG_BITS} bits on this system, and it needs 64"
            )
            reasons = (*reasons, short)
        return reasons

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        return after_flips(problem, _in_graphs, graphs=len(_slices(problem)))


def _in_graphs(problem: Problem) -> tuple[States, Scores]:
    """Return the maximisers `[batch, n]` of supermodular instances, and the bounds `[batch]`."""
    scores = FixedPoint.of(problem)
    cuts = [
        _minimum_cuts(replace(scores, unary=scores.unary[rows], pairwise=scores.pairwise[rows]))
        for rows in _slices(problem)
    ]
    z, bound = (np.concatenate(arrays) for arrays in zip(*cuts, strict=True))
    return z, scores.bound(bound)


def _slices(problem: Problem) -> list[slice]:
    """Return the instances of each graph."""
    size = min(INSTANCES, max(1, GRAPH // (problem.n + problem.e)))
    return [slice(first, first + size) for first in range(0, problem.batch, size)]


def _minimum_cuts(
    scores: FixedPoint,
) -> tuple[Int[np.ndarray, "batch n"], Int[np.ndarray, "batch"]]:
    """Return the maximisers of instances in one graph, and bounds on their integer scores.

    2 score(z) = sum_i b_i z_i - sum_(i,j) w_ij |z_i - z_j|, with b_i = 2 u_i + sum_j w_ij. This is
    the weight of the arcs from the source minus the weight of a cut. All cuts together weigh as
    much as the flow if each is minimum.
    """
    balance = 2 * scores.unary
    for end in scores.edges.T:
        np.add.at(balance.T, end, scores.pairwise.T)
    z, flow = _cut(balance, scores.pairwise, scores.edges)
    score = scores.score(z)
    gap = int(np.maximum(balance, 0).sum()) - flow - 2 * int(score.sum())
    return z, score + (gap + 1) // 2


def _cut(balance: np.ndarray, weights: np.ndarray, edges: np.ndarray) -> tuple[np.ndarray, int]:
    """Return the source's side of a minimum cut, int8 `[batch, n]`, and the flow."""
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
