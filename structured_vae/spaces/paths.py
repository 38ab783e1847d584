"""The space of paths from a source to a target in a directed graph without cycles."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Literal

import networkx as nx
import numpy as np
import torch

from ..autograd.contexts import constant
from ..autograd.recording import construct_between_graphs
from ..errors import StructureError, shortened
from ..noise import gumbel
from .checks.arcs import arcs_of
from .checks.batches import UNREACHABLE, checked, positive_integer, shaped
from .checks.scores import EdgesLike, masked
from .space import StateSpace
from .sums.distribution import StructureGibbs

LARGEST_GRID: Final = 1_000_000
"""Most nodes of a grid; to lay out a larger one would take minutes and gigabytes."""


@dataclass(frozen=True, eq=False)
class Paths(StateSpace):
    """The paths from source to target in a directed acyclic graph.

    z_i is one where arc i lies on the path; arcs on no such path are always zero. The argmax is the
    longest path of the scores, or the shortest of negative costs; scores may have any sign. Argmax,
    log Z, marginals and samples come from dynamic programming over the nodes, in O(arcs), one level
    of the graph at a time.

    Args:
        arcs: `[n, 2]`, from and to, nodes being integers from 0; arcs may be parallel.
        source: the node where paths start.
        target: the node where paths end; it differs from the source.

    Raises:
        StructureError: arcs, source or target have another form, the graph has a cycle, or no path
            leads from source to target.

    Example:
        >>> diamond = Paths([[0, 1], [1, 3], [0, 2], [2, 3]], source=0, target=3)
        >>> diamond.argmax(-torch.tensor([[1.0, 1.0, 0.5, 2.0]]))
        tensor([[1., 1., 0., 0.]])
        >>> diamond.gibbs(torch.zeros(1, 4)).log_partition.exp()  # paths
        tensor([2.])
    """

    arcs: EdgesLike
    source: int
    target: int
    _levels: list[tuple[torch.Tensor, torch.Tensor]] = field(init=False, repr=False)
    # compiled code cannot ask a numpy array for these two
    _count: int = field(init=False, repr=False)
    _node_count: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        construct_between_graphs()
        arcs = arcs_of(self.arcs, "arcs")
        object.__setattr__(self, "arcs", arcs)
        object.__setattr__(self, "_count", len(arcs))
        object.__setattr__(self, "_node_count", int(arcs.max()) + 1)
        for name in ("source", "target"):
            object.__setattr__(self, name, positive_integer(getattr(self, name), name, 0))
        object.__setattr__(self, "_levels", _levels_of(arcs, self.source, self.target))

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a path of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, one for each arc.
            mask: boolean, False where an arc must be off the path; see `mask_of_nodes`.

        Raises:
            StructureError: the scores are not a tensor of scores of that shape, or forbid every
                path of an instance.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        return shaped(self._best_paths(scores), scores, self)

    def _best_paths(self, scores: torch.Tensor) -> torch.Tensor:
        """Return paths `[batch, n]` of highest score, which may have forbidden arcs."""
        flat = self._checked(scores)
        values = self._values(flat, "max")
        noise = [flat.new_zeros((1, 1, 1))] * len(self._levels)
        return self._trace(values, flat, noise, 1)[0]

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> StructureGibbs:
        """Return the Gibbs distribution of scores `[..., n]`; using it raises as `argmax` does."""
        scores = masked(scores, mask)
        return StructureGibbs(scores, self._log_sum, self._draw, self._checked)

    def mask_of_nodes(self, nodes: torch.Tensor) -> torch.Tensor:
        """Return the mask `[..., n]` of the arcs that join allowed nodes.

        Args:
            nodes: `[..., nodes]`, boolean, False where a path must not pass; nodes are the integers
                from 0 to the largest of the arcs.

        Raises:
            StructureError: `nodes` is not such a tensor.

        Example:
            >>> diamond = Paths([[0, 1], [1, 3], [0, 2], [2, 3]], source=0, target=3)
            >>> mask = diamond.mask_of_nodes(torch.tensor([[True, False, True, True]]))
            >>> diamond.argmax(torch.tensor([[5.0, 5.0, 0.0, 0.0]]), mask)
            tensor([[0., 0., 1., 1.]])
        """
        arcs = torch.from_numpy(np.asarray(self.arcs, dtype=np.int64))
        count = self._node_count
        is_mask = isinstance(nodes, torch.Tensor) and nodes.dtype == torch.bool
        if not is_mask or nodes.ndim == 0 or nodes.shape[-1] != count:
            raise StructureError(
                f"nodes must be a boolean tensor [..., {count}]; got {shortened(nodes)}"
            )
        tails, heads = arcs.to(nodes.device).T
        return nodes[..., tails] & nodes[..., heads]

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        return checked(scores, self._count)

    def _values(self, scores: torch.Tensor, combine: Literal["max", "sum"]) -> torch.Tensor:
        """Return the highest score, or log sum exp(score), of the paths to each node.

        The values are `[batch, nodes]`, with nodes in the order of their levels: the source is the
        first node and the target the last.
        """
        padded = _padded(scores)
        values = scores.new_zeros((len(scores), 1))
        for tails, places in self._levels:
            through = values[:, tails.to(scores.device)] + padded[:, places.to(scores.device)]
            if combine == "max":
                level = through.amax(dim=-1)
            else:
                level = through.logsumexp(dim=-1)
            values = torch.cat([values, level], dim=-1)
        return values

    def _log_sum(self, scores: torch.Tensor) -> torch.Tensor:
        return self._values(scores, "sum")[:, -1]

    def _draw(self, scores: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        width = max(tails.shape[-1] for tails, _ in self._levels)
        like = scores.new_empty((samples, len(scores), width))
        noise = [gumbel(like, generator) for _ in self._levels]
        return self._trace(self._values(scores, "sum"), scores, noise, samples)

    def _trace(
        self, values: torch.Tensor, scores: torch.Tensor, noise: list[torch.Tensor], samples: int
    ) -> torch.Tensor:
        """Return paths `[samples, batch, n]`, traced from the target back to the source.

        Each step takes the arc of highest value + score + noise. Zero noise and maxima give the
        argmax; Gumbel noise and sums give exact samples.
        """
        tails, places = self._predecessors()
        tails = tails.to(scores.device)
        places = places.to(scores.device)
        rows = torch.arange(len(scores), device=scores.device)[:, None]
        node = torch.full((samples, len(scores)), values.shape[-1] - 1, device=scores.device)
        padded = _padded(scores)
        taken = []
        # The arc before the present node, for every sample at once.
        for draw in noise:
            through = values[rows, tails[node]] + padded[rows, places[node]] + draw
            chosen = through.argmax(dim=-1, keepdim=True)
            taken.append(places[node].gather(-1, chosen))
            node = tails[node].gather(-1, chosen)[..., 0]
        z = scores.new_zeros((samples, len(scores), scores.shape[-1] + 1))
        return z.scatter(-1, torch.cat(taken, dim=-1), 1.0)[..., :-1]

    def _predecessors(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the tails `[nodes, degree]` of the arcs into each node, and these arcs.

        The source has itself as its tail, by the placeholder arc n.
        """
        width = max(tails.shape[-1] for tails, _ in self._levels)
        none = len(self.arcs)
        parts = [(torch.zeros((1, width), dtype=torch.long), torch.full((1, width), none))]
        for tails, places in self._levels:
            more = (0, width - tails.shape[-1])
            padding = torch.nn.functional.pad
            parts.append((padding(tails, more), padding(places, more, value=none)))
        first, second = zip(*parts, strict=True)
        return torch.cat(first), torch.cat(second)


def grid_paths(rows: int, columns: int) -> Paths:
    """Return the paths through a grid from the upper left corner to the lower right.

    Paths go right and down. Nodes are numbered row by row. The arcs of a row to the right come
    first, then its arcs downwards, as in PyEPO.

    Args:
        rows: at least 1.
        columns: at least 1, and 2 where rows is 1.

    Raises:
        StructureError: rows or columns is not an integer of at least 1, or the grid has one node,
            or more than a million.

    Example:
        >>> len(grid_paths(5, 5).arcs)
        40
    """
    rows = positive_integer(rows, "rows")
    columns = positive_integer(columns, "columns")
    if rows * columns > LARGEST_GRID:
        raise StructureError(
            f"a grid has at most {LARGEST_GRID:,} nodes; "
            f"got {shortened(rows)} by {shortened(columns)}"
        )
    arcs = []
    for row in range(rows):
        first = row * columns
        arcs += [(first + c, first + c + 1) for c in range(columns - 1)]
        if row + 1 < rows:
            arcs += [(first + c, first + columns + c) for c in range(columns)]
    return Paths(np.array(arcs, dtype=np.int64).reshape(-1, 2), 0, rows * columns - 1)


def _padded(scores: torch.Tensor) -> torch.Tensor:
    """Return the scores `[batch, n + 1]`, with the placeholder arc at the end."""
    return torch.nn.functional.pad(scores, (0, 1), value=UNREACHABLE)


def _levels_of(
    arcs: np.ndarray, source: int, target: int
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Return, for each level after the source, the tails `[nodes, degree]` and arcs into its nodes.

    Tails are places in the order of levels. Both are padded to the largest degree of the level.

    Raises:
        StructureError: the graph has a cycle, or no path leads from source to target.
    """
    graph = nx.MultiDiGraph()
    graph.add_edges_from((u, v, place) for place, (u, v) in enumerate(arcs.tolist()))
    if (
        source not in graph
        or target not in graph
        or source == target
        or not nx.has_path(graph, source, target)
    ):
        raise StructureError(
            f"there is no path from {source} to another node {target} in {len(arcs)} arcs"
        )
    if not nx.is_directed_acyclic_graph(graph):
        cycle = [u for u, *_ in nx.find_cycle(graph)]
        raise StructureError(
            f"paths need arcs without cycles; found one through {shortened(cycle)}"
        )
    # Nodes that are on no path from source to target would only widen the levels.
    between = (nx.descendants(graph, source) | {source}) & (nx.ancestors(graph, target) | {target})
    on_paths = graph.subgraph(between)
    position: dict[int, int] = {}
    levels = []
    for level in nx.topological_generations(on_paths):
        if position:
            levels.append(_level_of(on_paths, level, position, len(arcs)))
        position |= {node: len(position) + i for i, node in enumerate(level)}
    return levels


def _level_of(
    graph: nx.MultiDiGraph, level: list[int], position: dict[int, int], none: int
) -> tuple[torch.Tensor, torch.Tensor]:
    entering = [list(graph.in_edges(node, keys=True)) for node in level]
    shape = len(level), max(map(len, entering))
    tails = np.zeros(shape, np.int64)
    places = np.full(shape, none)
    for row, arcs in enumerate(entering):
        for column, (tail, _, place) in enumerate(arcs):
            tails[row, column] = position[tail]
            places[row, column] = place
    return constant(tails), constant(places)
