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

from ..noise import gumbel, gumbel_differences
from .batches import UNREACHABLE, log_add

Graph: TypeAlias = tuple[torch.Tensor, torch.Tensor]
"""Logarithms of weights `[batch, v + 1, v + 1]`, from and to, and d of the last node v, `[batch]`."""


def eliminated(
    weights: torch.Tensor, combine: Literal["max", "sum"]
) -> tuple[list[Graph], torch.Tensor]:
    """The logarithms of weights while nodes go, and the logarithm of their sum, or the maximum, over arborescences.

    Args:
        weights: `[batch, nodes, nodes]`, from and to; node 0 is the root.
        combine: how two ways from a node to another become one.

    Returns:
        the graphs on the first 2, 3, ..., all nodes, and `[batch]`.
    """
    total, graphs = weights.new_zeros(len(weights)), list[Graph]()
    for v in range(weights.shape[-1] - 1, 0, -1):
        into = weights[:, :v, v]
        d = into.amax(dim=-1) if combine == "max" else into.logsumexp(dim=-1)
        graphs.append((weights, d))
        total = total + d
        through = into[:, :, None] + weights[:, v, None, :v] - d[:, None, None]
        direct = weights[:, :v, :v]
        both = torch.maximum(direct, through) if combine == "max" else log_add(direct, through)
        weights = both.clamp_min(UNREACHABLE)  # its diagonal, loops, is never asked for
    return graphs[::-1], total


def best_parents(graphs: list[Graph]) -> torch.Tensor:
    """`[1, batch, nodes]`: the parent of every node in a tree of highest score, from the maxima; the root's is 0."""
    parents = _root(graphs, 1)
    for v, graph in enumerate(graphs, start=1):
        still = graph[1].new_zeros((1, len(graph[1]), v))
        parents = _with_node(parents, graph, still, still)
    return parents


def drawn_parents(graphs: list[Graph], generator: torch.Generator, samples: int) -> torch.Tensor:
    """`[samples, batch, nodes]`: the parents in exact draws, from the sums."""
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
    """Trees of one node more: v, the last of a graph.

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
    own = torch.where(children.any(dim=-1, keepdim=True), parents.gather(-1, first), by_weight)
    return torch.cat([torch.where(children, v, parents), own], dim=-1)


def _children(parents: torch.Tensor, graph: Graph, ways: torch.Tensor) -> torch.Tensor:
    """Which nodes get v as their parent: those whose arc goes through it."""
    (weights, d), v = graph, parents.shape[-1]
    rows = torch.arange(len(weights), device=weights.device)[:, None]
    heads = torch.arange(v, device=weights.device)
    through = weights[:, :v, v][rows, parents] + weights[:, v, :v] - d[:, None]
    children: torch.Tensor = (through - weights[rows, parents, heads] + ways > 0) & (heads > 0)
    return children


def _tops(pointers: torch.Tensor) -> torch.Tensor:
    """Where the pointers of a forest end, by doubling."""
    for _ in range(max(1, pointers.shape[-1] - 1).bit_length()):
        pointers = pointers.gather(-1, pointers)
    return pointers
