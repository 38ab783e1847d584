"""Sums, maxima and draws over the arborescences of a weighted digraph, by elimination of its nodes.

The matrix-tree theorem (Tutte 1948) makes their sum a determinant: of the matrix with the weights
into a node on the diagonal, and the negative weights elsewhere, less row and column of the root.
Elimination of a node v with d = sum_a w(a, v) multiplies it by d and adds w(a, v) w(v, b) / d to
every other w(a, b). Nothing is subtracted (Grassmann, Taksar, Heyman 1985), so that it is done with
logarithms, whatever the range of the weights, and with maxima in place of sums.

Backwards, a tree of the smaller graph becomes one of the larger: each arc (a, b) goes through v
with the share that v had in its weight. Where none does, v is a leaf, its parent drawn by w(a, v).
Where one does, its tail is the parent of v. Where several do, their heads are children of v, whose
parent is the first tail that descends from none of them. Summed over the tails this gives each set
of children and each parent the weight that they have in the larger graph.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import torch

from ...noise import gumbel, gumbel_differences
from ..checks.batches import UNREACHABLE, log_add

Graph: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""Logarithms of weights `[batch, v + 1, v + 1]`; and d `[batch]` of the last node v."""


def eliminated(
    weights: torch.Tensor, combine: Literal["max", "sum"]
) -> tuple[list[Graph], torch.Tensor]:
    """Eliminate the nodes, and return every graph on the way with the sum or maximum over trees.

    Args:
        weights: `[batch, nodes, nodes]`, logarithms, from and to; node 0 is the root.
        combine: how two ways from one node to another become one.

    Returns:
        The graphs on the first 2, 3, ..., all nodes; and `[batch]`, the logarithm of the sum of the
        weights of all arborescences, or the largest logarithm.
    """
    total = weights.new_zeros(len(weights))
    graphs: list[Graph] = []
    # From the last node to the first, so that the graph that is left keeps its numbers.
    for v in range(weights.shape[-1] - 1, 0, -1):
        into = weights[:, :v, v]
        onward = weights[:, v, None, :v]
        direct = weights[:, :v, :v]
        if combine == "max":
            d = into.amax(dim=-1)
            both = torch.maximum(direct, into[:, :, None] + onward - d[:, None, None])
        else:
            d = into.logsumexp(dim=-1)
            both = log_add(direct, into[:, :, None] + onward - d[:, None, None])
        graphs.append((weights, d))
        total = total + d
        # Minus infinity would become NaN in the differences of the next step.
        weights = both.clamp_min(UNREACHABLE)  # the diagonal, loops, is never used
    return graphs[::-1], total


def best_parents(graphs: list[Graph]) -> torch.Tensor:
    """Return the parents `[1, batch, nodes]` in a tree of highest score; the root has parent 0.

    Args:
        graphs: from `eliminated` with "max".
    """
    parents = _root(graphs, 1)
    for v, graph in enumerate(graphs, start=1):
        still = graph[1].new_zeros((1, len(graph[1]), v))
        parents = _with_node(parents, graph, still, still)
    return parents


def drawn_parents(graphs: list[Graph], generator: torch.Generator, samples: int) -> torch.Tensor:
    """Return the parents `[samples, batch, nodes]` in trees that are exact samples.

    Args:
        graphs: from `eliminated` with "sum".
        generator: on the device of the graphs.
        samples: how many trees to draw of each instance.
    """
    parents = _root(graphs, samples)
    for v, graph in enumerate(graphs, start=1):
        like = graph[1].new_empty((samples, len(graph[1]), v))
        parents = _with_node(
            parents, graph, gumbel_differences(like, generator), gumbel(like, generator)
        )
    return parents


def _root(graphs: list[Graph], samples: int) -> torch.Tensor:
    d = graphs[0][1]
    return torch.zeros((samples, len(d), 1), dtype=torch.long, device=d.device)


def _with_node(
    parents: torch.Tensor, graph: Graph, ways: torch.Tensor, leaf: torch.Tensor
) -> torch.Tensor:
    """Return the parents `[samples, batch, v + 1]` in trees that also hold v, the last of a graph.

    Args:
        parents: `[samples, batch, v]`.
        graph: with v.
        ways: what is added to the advantage of the way through v.
        leaf: what is added to the weights of the arcs to v where it has no children.
    """
    v = parents.shape[-1]
    children = _children(parents, graph, ways)
    top = _tops(torch.where(children, torch.arange(v, device=parents.device), parents))
    outside = children & (top.gather(-1, parents) == 0)
    first = outside.to(torch.uint8).argmax(dim=-1, keepdim=True)
    by_weight = (graph[0][:, :v, v] + leaf).argmax(dim=-1, keepdim=True)
    any_child = children.any(dim=-1, keepdim=True)
    parent_of_v = torch.where(any_child, parents.gather(-1, first), by_weight)
    return torch.cat([torch.where(children, v, parents), parent_of_v], dim=-1)


def _children(parents: torch.Tensor, graph: Graph, ways: torch.Tensor) -> torch.Tensor:
    """Return which nodes get v as their parent: those whose arc goes through it."""
    weights, d = graph
    v = parents.shape[-1]
    rows = torch.arange(len(weights), device=weights.device)[:, None]
    heads = torch.arange(v, device=weights.device)
    through = weights[:, :v, v][rows, parents] + weights[:, v, :v] - d[:, None]
    children: torch.Tensor = (through - weights[rows, parents, heads] + ways > 0) & (heads > 0)
    return children


def _tops(pointers: torch.Tensor) -> torch.Tensor:
    """Return the roots to which the pointers of a forest lead, by doubling."""
    for _ in range(max(1, pointers.shape[-1] - 1).bit_length()):
        pointers = pointers.gather(-1, pointers)
    return pointers
