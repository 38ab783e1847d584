"""Shortest tours through eight nodes, of PyEPO's generator.

`Tours` is a structure written for this benchmark, as a user would write one: dynamic programming
over subsets of nodes. With sums in place of maxima the same recursion gives log Z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import torch

from structured_vae import StateSpace

from .of_pyepo import WITH_GUROBI
from .task import Data, Task, linear

NODES = 8
FEATURES = 5
NOISE = 0.5

Reduction = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class TourSums:
    """The distribution p(z) = exp(sum_i scores[i] z_i) / Z over tours.

    Attributes:
        scores: `[batch, edges]`.
        tours: the structure.
    """

    scores: torch.Tensor
    tours: Tours

    @property
    def log_partition(self) -> torch.Tensor:
        """Log Z `[batch]`."""
        double = self.scores.double()
        both_ways = self.tours.total(double, lambda values: values.logsumexp(dim=-1))
        return (both_ways - torch.log(torch.tensor(2.0))).to(self.scores)

    @property
    def marginals(self) -> torch.Tensor:
        """The probabilities `[batch, edges]` that a tour uses an edge, differentiable."""
        scores = self.scores
        if not scores.requires_grad:
            scores = scores.detach().requires_grad_()
        with torch.enable_grad():
            total = TourSums(scores, self.tours).log_partition.sum()
            (marginals,) = torch.autograd.grad(total, scores, create_graph=True)
        return marginals


@dataclass(frozen=True)
class Tours(StateSpace):
    """The tours through all nodes; z_i is 1 where the tour uses edge i.

    Edges are the pairs of nodes in lexicographic order, as in PyEPO.

    Args:
        nodes: at least 4.

    References:
        Held, Karp (1962), A dynamic programming approach to sequencing problems.
    """

    nodes: int

    def argmax(self, scores: torch.Tensor) -> torch.Tensor:
        """Return a best tour `[..., batch, edges]`: the derivative of the maximum in the scores."""
        flat = scores.detach().double().reshape(-1, scores.shape[-1])
        with torch.enable_grad():
            learnt = flat.requires_grad_()
            best = self.total(learnt, lambda values: values.max(dim=-1).values)
            (z,) = torch.autograd.grad(best.sum(), learnt)
        return z.to(scores).reshape(scores.shape)

    def gibbs(self, scores: torch.Tensor) -> TourSums:  # type: ignore[override]  # draws no samples
        """Return the Gibbs distribution of scores `[batch, edges]`."""
        return TourSums(scores, self)

    def total(self, scores: torch.Tensor, reduce: Reduction) -> torch.Tensor:
        """Return the reduction `[batch]` over all tours, each in both directions.

        Invariant: `values[:, s]` is the reduction over paths from node 0 that visit the nodes of
        state s and end at its last node. States of one size follow from those with a node less.
        """
        ends = [self._edge[0, node] for node in range(1, self.nodes)]
        values = scores[:, ends]
        for before, edges in self._steps:
            values = reduce(values[:, before] + scores[:, edges])
        return reduce(values + scores[:, ends])

    @cached_property
    def _edge(self) -> dict[tuple[int, int], int]:
        """The place of each edge, in both directions."""
        places = {}
        for place, (i, j) in enumerate(combinations(range(self.nodes), 2)):
            places[i, j] = place
            places[j, i] = place
        return places

    @cached_property
    def _steps(self) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """The states before each state `[states, size]`, and the edges that lead from them."""
        others = range(1, self.nodes)
        earlier = {(frozenset([node]), node): node - 1 for node in others}
        steps = []
        for size in range(2, self.nodes):
            subsets = [frozenset(subset) for subset in combinations(others, size)]
            states = [(subset, last) for subset in subsets for last in sorted(subset)]
            before = []
            edges = []
            for subset, last in states:
                rest = subset - {last}
                before.append([earlier[rest, node] for node in sorted(rest)])
                edges.append([self._edge[node, last] for node in sorted(rest)])
            steps.append((torch.tensor(before), torch.tensor(edges)))
            earlier = {state: place for place, state in enumerate(states)}
        return steps


TOURS = Tours(NODES)


def data(count: int, degree: int, seed: int) -> Data:
    """Return features and the costs of edges."""
    from pyepo.data.tsp import genData

    x, costs = genData(count, FEATURES, NODES, degree, NOISE, seed)
    features = torch.from_numpy(x).float()
    peer = model if WITH_GUROBI else None
    return Data(features, torch.from_numpy(costs).float(), TOURS, peer)


def model() -> Any:
    """Return PyEPO's model of Dantzig, Fulkerson and Johnson, which Gurobi solves."""
    import pyepo

    return pyepo.model.grb.tspDFJModel(NODES)


TASK = Task(-1.0, data, linear, degrees=(4,))
