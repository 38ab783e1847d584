"""The spaces of spanning trees of a graph, and of arborescences of a digraph."""

from __future__ import annotations

from dataclasses import dataclass, field

import networkx as nx
import numpy as np
import torch

from ..autograd.contexts import constant
from ..autograd.recording import construct_between_graphs
from ..errors import StructureError
from .checks.arcs import arcs_of
from .checks.batches import UNREACHABLE, checked, positive_integer, shaped
from .checks.scores import EdgesLike, masked
from .space import StateSpace
from .sums.distribution import StructureGibbs
from .sums.elimination import best_parents, drawn_parents, eliminated


class _Trees(StateSpace):
    """Base of trees whose sums come from one elimination of nodes.

    A subclass sets the number of scores, and the place of the arc between two nodes.
    """

    _count: int
    _place: torch.Tensor

    def gibbs(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> StructureGibbs:
        """Return the Gibbs distribution of scores `[..., n]`; using it raises as `argmax` does."""
        scores = masked(scores, mask)
        return StructureGibbs(scores, self._log_sum, self._draw, self._checked)

    def _checked(self, scores: torch.Tensor) -> torch.Tensor:
        return checked(scores, self._count)

    def _log_sum(self, scores: torch.Tensor) -> torch.Tensor:
        return eliminated(_matrix(scores, self._place), "sum")[1]

    def _draw(self, scores: torch.Tensor, generator: torch.Generator, samples: int) -> torch.Tensor:
        graphs, _ = eliminated(_matrix(scores, self._place), "sum")
        return _states(drawn_parents(graphs, generator, samples), self._place, scores)


@dataclass(frozen=True, eq=False)
class SpanningTrees(_Trees):
    """The spanning trees of a connected graph: z_i is one if edge i belongs to the tree.

    The argmax grows a tree by the best edge that leaves it (Prim), in O(nodes^2). log Z is the
    logarithm of a determinant by the matrix-tree theorem, in O(nodes^3). It is computed without
    subtraction, so that it is accurate for any scores. Samples are exact, in O(nodes^2) each after
    that.

    Args:
        edges: `[n, 2]`, nodes being all integers from 0 to the largest; each pair once.

    Raises:
        StructureError: the edges have another form, or the graph is not connected.

    References:
        Prim (1957), Shortest connection networks and some generalizations.
        Kirchhoff (1847), Über die Auflösung der Gleichungen, auf welche man bei der Untersuchung
        der linearen Verteilung galvanischer Ströme geführt wird.
        Koo, Globerson, Carreras, Collins (2007), Structured prediction models via the matrix-tree
        theorem.

    Example:
        >>> triangle = SpanningTrees([[0, 1], [1, 2], [0, 2]])
        >>> triangle.argmax(torch.tensor([[1.0, -1.0, 0.5]]))
        tensor([[1., 0., 1.]])
        >>> triangle.gibbs(torch.zeros(1, 3)).log_partition.exp()  # trees
        tensor([3.])
    """

    edges: EdgesLike
    _place: torch.Tensor = field(init=False, repr=False)
    _count: int = field(init=False, repr=False)  # compiled code cannot ask a numpy array

    def __post_init__(self) -> None:
        construct_between_graphs()
        edges = arcs_of(self.edges)
        if len(np.unique(edges)) <= edges.max() or not nx.is_connected(nx.Graph(edges.tolist())):
            raise StructureError(
                f"spanning trees need a connected graph of the nodes 0 to {edges.max()}"
            )
        place = _places(np.concatenate([edges, edges[:, ::-1]]), len(edges))
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "_count", len(edges))
        object.__setattr__(self, "_place", constant(place))

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return a tree of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, one for each edge.
            mask: boolean, False where an edge or an arc must be out of the tree.

        Raises:
            StructureError: the scores are not a tensor of scores of that shape, or forbid every
                tree of an instance.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        flat = self._checked(scores)
        parents = _prim(_matrix(flat, self._place))
        return shaped(_states(parents[None], self._place, flat)[0], scores, self)


@dataclass(frozen=True, eq=False)
class Arborescences(_Trees):
    """The spanning arborescences of a digraph: trees of arcs that lead away from the root.

    One arc enters every node but the root, and there is no cycle; a non-projective dependency tree
    is an example. z_i is one where arc i belongs to the tree. Argmax, log Z and samples come from
    one elimination of nodes in O(nodes^3). With maxima it gives the result of the algorithm of Chu,
    Liu and Edmonds, with sums the determinant of the directed matrix-tree theorem.

    Args:
        arcs: `[n, 2]`, from and to, nodes being all integers from 0 to the largest; each pair once
            in a direction.
        root: the node that no arc of a tree enters.

    Raises:
        StructureError: arcs or root have another form, or a node cannot be reached from the root.

    References:
        Tutte (1948), The dissection of equilateral triangles into equilateral triangles.
        Edmonds (1967), Optimum branchings.
        Koo, Globerson, Carreras, Collins (2007), Structured prediction models via the matrix-tree
        theorem.

    Example:
        >>> trees = Arborescences([[0, 1], [0, 2], [1, 2], [2, 1]], root=0)
        >>> trees.argmax(torch.tensor([[1.0, 3.0, 3.0, 2.0]]))
        tensor([[0., 1., 0., 1.]])
        >>> trees.gibbs(torch.zeros(1, 4)).log_partition.exp()
        tensor([3.])
    """

    arcs: EdgesLike
    root: int = 0
    _place: torch.Tensor = field(init=False, repr=False)
    _count: int = field(init=False, repr=False)  # compiled code cannot ask a numpy array

    def __post_init__(self) -> None:
        construct_between_graphs()
        arcs = arcs_of(self.arcs, "arcs")
        root = positive_integer(self.root, "root", 0)
        reached = set()
        if (arcs == root).any():
            reached = nx.descendants(nx.DiGraph(arcs.tolist()), root) | {root}
        nodes = int(arcs.max()) + 1
        if len(reached) < nodes:
            missing = next(node for node in range(nodes) if node not in reached)
            raise StructureError(
                f"no arborescence: from root {root} there is no way to node {missing}"
            )
        place = _places(arcs, len(arcs))
        # The root becomes node 0, as the sums over trees want it.
        order = [root, *(node for node in range(nodes) if node != root)]
        object.__setattr__(self, "arcs", arcs)
        object.__setattr__(self, "_count", len(arcs))
        object.__setattr__(self, "root", root)
        object.__setattr__(self, "_place", constant(place[np.ix_(order, order)]))

    def argmax(self, scores: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return an arborescence of highest score `[..., batch, n]`, as `Structure` specifies.

        Args:
            scores: `[..., batch, n]`, one for each arc.
            mask: boolean, False where an edge or an arc must be out of the tree.

        Raises:
            StructureError: the scores are not a tensor of scores of that shape, or forbid every
                tree of an instance.
            solvers.ProblemError: the mask is not boolean, or does not fit the scores.
        """
        scores = masked(scores, mask)
        flat = self._checked(scores)
        graphs, _ = eliminated(_matrix(flat, self._place), "max")
        return shaped(_states(best_parents(graphs), self._place, flat)[0], scores, self)


def _places(arcs: np.ndarray, none: int) -> np.ndarray:
    """Return the place of the arc between two nodes `[nodes, nodes]`, or `none`.

    Args:
        arcs: `[n, 2]`, or the edges in both directions.
        none: the number of edges, which stands for no arc.

    Raises:
        StructureError: a pair is there twice.
    """
    nodes = int(arcs.max()) + 1
    pairs, counts = np.unique(arcs, axis=0, return_counts=True)
    if (counts > 1).any():
        raise StructureError(f"each pair once: {pairs[counts > 1][0].tolist()} is there twice")
    place = np.full((nodes, nodes), none)
    place[arcs[:, 0], arcs[:, 1]] = np.arange(len(arcs)) % none
    return place


def _matrix(scores: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
    """Return the scores of the arcs as matrices `[batch, nodes, nodes]`."""
    padded = torch.nn.functional.pad(scores, (0, 1), value=UNREACHABLE)
    return padded[:, place.to(scores.device)]


def _states(parents: torch.Tensor, place: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Return the states `[samples, batch, n]` of parents `[samples, batch, nodes]`."""
    nodes = torch.arange(1, parents.shape[-1], device=parents.device)
    chosen = place.to(parents.device)[parents[..., 1:], nodes]
    z = scores.new_zeros((*parents.shape[:-1], scores.shape[-1]))
    return z.scatter(-1, chosen, 1.0)


def _prim(weights: torch.Tensor) -> torch.Tensor:
    """Return the parents `[batch, nodes]` in a tree of highest score, grown from node 0."""
    rows = torch.arange(len(weights), device=weights.device)
    # The key of a node outside is the weight of its best edge to the tree, `parents` its other end.
    key = weights[:, 0].clone()
    parents = torch.zeros_like(weights[:, 0], dtype=torch.long)
    inside = torch.zeros_like(key, dtype=torch.bool)
    inside[:, 0] = True
    for _ in range(weights.shape[-1] - 1):
        node = key.masked_fill(inside, -torch.inf).argmax(dim=-1)
        inside[rows, node] = True
        better = ~inside & (weights[rows, node] > key)
        key = torch.where(better, weights[rows, node], key)
        parents = torch.where(better, node[:, None], parents)
    return parents
