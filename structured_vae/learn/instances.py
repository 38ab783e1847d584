"""Training instances of any sizes, stacked, and grouped by their edges into batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Features: TypeAlias = Any
"""`[rows, d]`: a numpy array, or a sparse array of scipy in CSR form."""


@dataclass(frozen=True, eq=False)
class Group:
    """Instances with the same number of nodes and the same edges.

    Attributes:
        edges: `[e, 2]`, in the caller's order.
        members: `[batch]`, the numbers of the instances.
        nodes: `[batch, n]`, the rows of their features.
        pairs: `[batch, e]`, the rows of their pair features.
    """

    edges: np.ndarray
    members: np.ndarray
    nodes: np.ndarray
    pairs: np.ndarray

    def batches(self, size: int) -> Iterator[Group]:
        """Split the group into batches of at most `size` instances."""
        for first in range(0, len(self.members), size):
            rows = slice(first, first + size)
            yield Group(self.edges, self.members[rows], self.nodes[rows], self.pairs[rows])


@dataclass(frozen=True, eq=False)
class Instances:
    """Graphs with features of their nodes and edges, stacked.

    Attributes:
        features: `[nodes, d]`, of all instances one after the other.
        pair_features: `[pairs, p]`, of all instances one after the other; None if all edges share
            one table.
        offsets: `[instances + 1]`, the first node of each instance.
        groups: all instances, grouped by their edges.
    """

    features: Features
    pair_features: Features | None
    offsets: np.ndarray
    groups: tuple[Group, ...]

    @classmethod
    def of(
        cls,
        features: Features,
        pair_features: Features | None,
        lengths: Sequence[int] | np.ndarray,
        edges: Sequence[np.ndarray],
    ) -> Instances:
        """Group stacked features by the graph of their instance.

        Args:
            features: `[nodes, d]`.
            pair_features: `[pairs, p]`; None if all edges share one table.
            lengths: the number of nodes of each instance.
            edges: `[e, 2]` for each instance.
        """
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        pair_offsets = np.concatenate([[0], np.cumsum([len(pairs) for pairs in edges])])
        members_of: dict[tuple[int, bytes], list[int]] = {}
        for instance, (length, pairs) in enumerate(zip(lengths, edges, strict=True)):
            # Instances with the same graph are solved as one batch.
            members_of.setdefault((int(length), pairs.tobytes()), []).append(instance)
        groups = []
        for (length, _), members in members_of.items():
            shared_edges = edges[members[0]]
            group = Group(
                edges=shared_edges,
                members=np.array(members),
                nodes=offsets[members, None] + np.arange(length),
                pairs=pair_offsets[members, None] + np.arange(len(shared_edges)),
            )
            groups.append(group)
        return cls(features, pair_features, offsets, tuple(groups))

    @property
    def count(self) -> int:
        """The number of instances."""
        return len(self.offsets) - 1

    @property
    def nodes(self) -> int:
        """The number of nodes of all instances together."""
        return int(self.offsets[-1])

    @property
    def pairs(self) -> int:
        """The number of edges of all instances together."""
        return sum(group.pairs.size for group in self.groups)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Split values `[nodes, ...]` into one array per instance."""
        return np.split(values, self.offsets[1:-1])


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of a linear model, or their gradient.

    Attributes:
        nodes: `[d, k]`, what a feature of a node adds to the score of a label.
        pairs: `[p, k, k]`, what a feature of an edge adds to the score of two labels; p is 1 if all
            edges share a table.
    """

    nodes: np.ndarray
    pairs: np.ndarray

    @classmethod
    def zeros(cls, instances: Instances, k: int) -> Weights:
        """Return zeros, in the shapes that these instances need."""
        p = 1
        if instances.pair_features is not None:
            p = instances.pair_features.shape[1]
        return cls(np.zeros((instances.features.shape[1], k)), np.zeros((p, k, k)))

    @property
    def k(self) -> int:
        """The number of labels."""
        return int(self.nodes.shape[1])

    def vector(self) -> np.ndarray:
        """Return all weights in one vector."""
        return np.concatenate([self.nodes.ravel(), self.pairs.ravel()])

    def like(self, vector: np.ndarray) -> Weights:
        """Return the numbers of a vector as weights of these shapes."""
        nodes, pairs = np.split(vector, [self.nodes.size])
        return Weights(nodes.reshape(self.nodes.shape), pairs.reshape(self.pairs.shape))

    def times(self, factor: float) -> Weights:
        """Return the weights times a factor."""
        return Weights(factor * self.nodes, factor * self.pairs)

    def unary(self, instances: Instances) -> np.ndarray:
        """Return the scores of each label at each node: `[nodes, k]`."""
        return np.asarray(instances.features @ self.nodes)

    def tables(self, instances: Instances) -> np.ndarray | None:
        """Return the scores of each edge, `[pairs, k, k]`; None if all edges share `pairs[0]`."""
        if instances.pair_features is None:
            return None
        flat = np.asarray(instances.pair_features @ self.pairs.reshape(len(self.pairs), -1))
        return flat.reshape(-1, self.k, self.k)

    @classmethod
    def of_statistics(cls, instances: Instances, nodes: np.ndarray, pairs: np.ndarray) -> Weights:
        """Return the sum of all features, weighted by indicators or probabilities of labels.

        Args:
            instances: the features.
            nodes: `[nodes, k]`, the indicator or probability of each label.
            pairs: `[pairs, k, k]`, the same for pairs of labels; or their sum `[k, k]` if all edges
                share a table.
        """
        k = nodes.shape[1]
        of_nodes = np.asarray(instances.features.T @ nodes)
        if instances.pair_features is None:
            return cls(of_nodes, pairs.reshape(-1, k, k).sum(axis=0, keepdims=True))
        of_pairs = np.asarray(instances.pair_features.T @ pairs.reshape(len(pairs), -1))
        return cls(of_nodes, of_pairs.reshape(-1, k, k))


def indicators(instances: Instances, labels: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return one-hot labels of all nodes, `[nodes, k]`, and of all pairs, `[pairs, k, k]`."""
    pairs = np.zeros((instances.pairs, k, k))
    for group in instances.groups:
        first = labels[group.nodes[:, group.edges[:, 0]]]
        second = labels[group.nodes[:, group.edges[:, 1]]]
        pairs[group.pairs, first, second] = 1
    return _one_hot(labels, k), pairs


def statistics(
    instances: Instances, labels: np.ndarray, k: int, weights: np.ndarray | None = None
) -> Weights:
    """Return the sum of all features at labels `[nodes]`: the sufficient statistics.

    Args:
        instances: the features.
        labels: `[nodes]`.
        k: the number of labels.
        weights: `[instances]`, by which the features are multiplied; None for ones.
    """
    if weights is None:
        weights = np.ones(instances.count)
    of_nodes = np.repeat(weights, np.diff(instances.offsets))[:, None] * _one_hot(labels, k)
    if instances.pair_features is not None:
        of_pairs = indicators(instances, labels, k)[1]
        for group in instances.groups:
            of_pairs[group.pairs] *= weights[group.members, None, None, None]
        return Weights.of_statistics(instances, of_nodes, of_pairs)
    # All edges share a table, so counts of label pairs do, without an indicator for each edge.
    counts = np.zeros(k**2)
    for group in instances.groups:
        first = labels[group.nodes[:, group.edges[:, 0]]]
        second = labels[group.nodes[:, group.edges[:, 1]]]
        of_edges = np.broadcast_to(weights[group.members, None], first.shape).ravel()
        counts += np.bincount((first * k + second).ravel(), of_edges, minlength=k**2)
    return Weights.of_statistics(instances, of_nodes, counts)


def _one_hot(labels: np.ndarray, k: int) -> np.ndarray:
    nodes = np.zeros((len(labels), k))
    nodes[np.arange(len(labels)), labels] = 1
    return nodes
