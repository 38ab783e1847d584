"""What estimators learn from: instances of any sizes, stacked, and grouped by their edges for solvers of batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Features: TypeAlias = Any
"""`[rows, d]`: a numpy array, or a sparse array of scipy in CSR form."""


@dataclass(frozen=True, eq=False)
class Group:
    """Instances with the same number of places and the same edges.

    Attributes:
        edges: `[e, 2]`, as they were given.
        members: `[batch]`, which instances.
        places: `[batch, n]`, the rows of their features.
        pairs: `[batch, e]`, the rows of their pair features.
    """

    edges: np.ndarray
    members: np.ndarray
    places: np.ndarray
    pairs: np.ndarray

    def batches(self, size: int) -> Iterator[Group]:
        """In parts of at most so many instances."""
        for first in range(0, len(self.members), size):
            part = slice(first, first + size)
            yield Group(self.edges, self.members[part], self.places[part], self.pairs[part])


@dataclass(frozen=True, eq=False)
class Instances:
    """Instances of which each has places with features, and edges with features.

    Attributes:
        features: `[places, d]`, of all instances one after the other.
        pair_features: `[pairs, p]`, likewise; None where all edges share one table.
        offsets: `[instances + 1]`, where the places of each start.
        groups: all instances, by their edges.
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
        """From stacked features, with the edges `[e, 2]` and the number of places of each instance."""
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        pair_offsets = np.concatenate([[0], np.cumsum([len(pairs) for pairs in edges])])
        alike: dict[tuple[int, bytes], list[int]] = {}
        for instance, (length, pairs) in enumerate(zip(lengths, edges, strict=True)):
            alike.setdefault((int(length), pairs.tobytes()), []).append(instance)
        groups = []
        for (length, _), members in alike.items():
            own, of_pairs = edges[members[0]], pair_offsets[members, None]
            places = offsets[members, None] + np.arange(length)
            groups.append(Group(own, np.array(members), places, of_pairs + np.arange(len(own))))
        return cls(features, pair_features, offsets, tuple(groups))

    @property
    def count(self) -> int:
        """How many instances."""
        return len(self.offsets) - 1

    @property
    def places(self) -> int:
        """How many places all instances have together."""
        return int(self.offsets[-1])

    @property
    def pairs(self) -> int:
        """How many edges all instances have together."""
        return sum(group.pairs.size for group in self.groups)

    def split(self, values: np.ndarray) -> list[np.ndarray]:
        """Values `[places, ...]` by instances."""
        return np.split(values, self.offsets[1:-1])


@dataclass(frozen=True, eq=False)
class Weights:
    """A linear model, or its gradient.

    Attributes:
        places: `[d, k]`, what a feature of a place adds to the score of a label.
        pairs: `[p, k, k]`, what a feature of an edge adds to that of two labels; p is 1 where edges
            share a table.
    """

    places: np.ndarray
    pairs: np.ndarray

    @classmethod
    def zeros(cls, instances: Instances, k: int) -> Weights:
        """Of the sizes that these instances need."""
        p = 1 if instances.pair_features is None else instances.pair_features.shape[1]
        return cls(np.zeros((instances.features.shape[1], k)), np.zeros((p, k, k)))

    @property
    def k(self) -> int:
        """Number of labels."""
        return int(self.places.shape[1])

    def vector(self) -> np.ndarray:
        """All numbers in one row."""
        return np.concatenate([self.places.ravel(), self.pairs.ravel()])

    def like(self, vector: np.ndarray) -> Weights:
        """The numbers of a row as weights of these sizes."""
        places, pairs = np.split(vector, [self.places.size])
        return Weights(places.reshape(self.places.shape), pairs.reshape(self.pairs.shape))

    def unary(self, instances: Instances) -> np.ndarray:
        """`[places, k]`: the scores of all places."""
        return np.asarray(instances.features @ self.places)

    def tables(self, instances: Instances) -> np.ndarray | None:
        """`[pairs, k, k]`: the scores of all edges; None where all have `pairs[0]`."""
        if instances.pair_features is None:
            return None
        flat = np.asarray(instances.pair_features @ self.pairs.reshape(len(self.pairs), -1))
        return flat.reshape(-1, self.k, self.k)

    @classmethod
    def of_statistics(cls, instances: Instances, places: np.ndarray, pairs: np.ndarray) -> Weights:
        """The features, each as often as labels have it.

        Args:
            instances: whose features.
            places: `[places, k]`, of indicators of labels or their probabilities.
            pairs: `[pairs, k, k]`, of pairs of labels; or `[k, k]`, already summed, where edges
                share a table.
        """
        k = places.shape[1]
        of_places = np.asarray(instances.features.T @ places)
        if instances.pair_features is None:
            return cls(of_places, pairs.reshape(-1, k, k).sum(axis=0, keepdims=True))
        of_pairs = np.asarray(instances.pair_features.T @ pairs.reshape(len(pairs), -1))
        return cls(of_places, of_pairs.reshape(-1, k, k))


def indicators(instances: Instances, labels: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """`[places, k]` and `[pairs, k, k]`: one where a place has the label, an edge the two labels; zero elsewhere."""
    places, pairs = np.zeros((len(labels), k)), np.zeros((instances.pairs, k, k))
    places[np.arange(len(labels)), labels] = 1
    for group in instances.groups:
        own = labels[group.places]
        pairs[group.pairs, own[:, group.edges[:, 0]], own[:, group.edges[:, 1]]] = 1
    return places, pairs


def statistics(instances: Instances, labels: np.ndarray, k: int) -> Weights:
    """The features as often as labels `[places]` have them."""
    if instances.pair_features is not None:
        return Weights.of_statistics(instances, *indicators(instances, labels, k))
    places, pairs = np.zeros((len(labels), k)), np.zeros(k**2)
    places[np.arange(len(labels)), labels] = 1
    for group in instances.groups:
        own = labels[group.places]
        both = own[:, group.edges[:, 0]] * k + own[:, group.edges[:, 1]]
        pairs += np.bincount(both.ravel(), minlength=k**2)
    return Weights.of_statistics(instances, places, pairs)
