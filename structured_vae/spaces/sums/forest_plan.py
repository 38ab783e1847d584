"""Plan the elimination of bits whose edges form a forest, in few rounds.

A round eliminates bits of at most two neighbours, none of which are neighbours of each other. A
forest always has many of them, so the number of rounds grows with the logarithm of n. A chain of
50 bits takes 6 rounds. What remains is a forest again: a bit between two others leaves an edge.

With the neighbours a and b of a bit, summing over it adds to log weights

    softplus(u + v_a z_a + v_b z_b),

where u and v are its scores. That is a score of z_a, one of z_b, one of both and a constant. So a
round maps scores to scores: a linear map gives the fields u + v_a z_a + v_b z_b of each bit for
the four values of its neighbours, and another adds their softplus to the scores that remain.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np
import torch

CORNERS: Final = ((0, 0), (1, 0), (0, 1), (1, 1))
"""The values of the two neighbours of a bit, in the order of its fields."""

Graph: TypeAlias = dict[int, set[int]]
"""The neighbours of each bit that remains."""

Places: TypeAlias = dict[tuple[int, ...], int]
"""The place of each score, by the bits that it belongs to."""


@dataclass(frozen=True, eq=False)
class Round:
    """One round of an elimination, as linear maps of scores; p is the number of scores before it.

    Attributes:
        size: how many bits it eliminates, v.
        split: `[p, 4 v + q]`: scores -> the fields of each corner and bit, and the q scores that
            remain.
        merge: `[4 v, q]`: the softplus of the fields -> their share in the scores that remain.
        parents: `[bits drawn before, v]`: values of the bits drawn before -> the corner of each
            bit, as a number.
    """

    size: int
    split: torch.Tensor
    merge: torch.Tensor
    parents: torch.Tensor

    def to(self, device: torch.device) -> Round:
        """Return the round on a device."""
        return replace(
            self,
            split=self.split.to(device),
            merge=self.merge.to(device),
            parents=self.parents.to(device),
        )


@dataclass(frozen=True, eq=False)
class ForestPlan:
    """An order in which sums eliminate all bits, and in which samples are drawn, backwards.

    Attributes:
        rounds: in the order of the elimination.
        order: `[n]`, the bits in the order in which they are drawn.
        places: `[n]`, the place of each bit in this order.
    """

    rounds: tuple[Round, ...]
    order: torch.Tensor
    places: torch.Tensor


def forest_plan(edges: np.ndarray, n: int, device: torch.device) -> ForestPlan:
    """Return the plan for n bits and edges `[e, 2]` that form a forest, on a device."""
    bits = _rounds_of(edges, n)
    scores: list[tuple[int, ...]] = [(i,) for i in range(n)]
    scores += [tuple(sorted(edge)) for edge in edges.tolist()]
    drawn = n
    order = np.array([i for chosen in reversed(bits) for i in chosen], dtype=np.int64)
    places = np.empty(n, dtype=np.int64)
    places[order] = np.arange(n)
    graph = _graph(edges, n)
    rounds = []
    for chosen in bits:
        drawn -= len(chosen)
        step, scores = _round(graph, chosen, scores, places, drawn)
        rounds.append(step.to(device))
    return ForestPlan(
        tuple(rounds), torch.from_numpy(order).to(device), torch.from_numpy(places).to(device)
    )


def is_forest(edges: np.ndarray, n: int) -> bool:
    """Return whether edges `[e, 2]` join different ones of n variables, and have no cycle."""
    if edges.size and (edges.min() < 0 or edges.max() >= n):
        return False
    root = list(range(n))
    for i, j in edges.tolist():
        first = _root(root, i)
        second = _root(root, j)
        if first == second:
            return False
        root[first] = second
    return True


def _root(root: list[int], i: int) -> int:
    while root[i] != i:
        root[i] = root[root[i]]
        i = root[i]
    return i


def _graph(edges: np.ndarray, n: int) -> Graph:
    graph: Graph = {i: set() for i in range(n)}
    for i, j in edges.tolist():
        graph[i].add(j)
        graph[j].add(i)
    return graph


def _rounds_of(edges: np.ndarray, n: int) -> list[list[int]]:
    """Return the bits of each round."""
    graph = _graph(edges, n)
    rounds = []
    while graph:
        taken: set[int] = set()
        # Leaves first: they leave no edge behind.
        for i in sorted(graph, key=lambda bit: (len(graph[bit]) > 1, bit)):
            if len(graph[i]) <= 2 and not graph[i] & taken:
                taken.add(i)
        chosen = sorted(taken)
        for i in chosen:
            _remove(graph, i)
        rounds.append(chosen)
    return rounds


def _remove(graph: Graph, i: int) -> None:
    """Remove a bit, and join its two neighbours if it has two."""
    neighbours = graph.pop(i)
    for j in neighbours:
        graph[j].remove(i)
    if len(neighbours) == 2:
        first, second = neighbours
        graph[first].add(second)
        graph[second].add(first)


def _round(
    graph: Graph, chosen: list[int], scores: list[tuple[int, ...]], places: np.ndarray, drawn: int
) -> tuple[Round, list[tuple[int, ...]]]:
    """Return a round, and what its scores are scores of; remove its bits from the graph.

    Args:
        graph: the forest before the round.
        chosen: the bits to eliminate.
        scores: the bits that each score belongs to: none for the constant, one or two.
        places: the place of each bit in the order of draws.
        drawn: how many bits are drawn before those of this round.
    """
    v = len(chosen)
    ends_of = {i: sorted(graph[i]) for i in chosen}
    for i in chosen:
        _remove(graph, i)
    remaining: list[tuple[int, ...]] = [(), *((i,) for i in sorted(graph))]
    remaining += [(i, j) for i in sorted(graph) for j in sorted(graph[i]) if i < j]
    before = {bits: row for row, bits in enumerate(scores)}
    after = {bits: column for column, bits in enumerate(remaining)}
    parents = np.zeros((drawn, v))
    for place, ends in enumerate(ends_of.values()):
        # The number of a corner is the value of the first neighbour plus twice that of the second.
        for weight, j in enumerate(ends, start=1):
            parents[places[j], place] = weight
    split = torch.from_numpy(_split(ends_of, before, after))
    merge = torch.from_numpy(_merge(ends_of, after))
    return Round(v, split, merge, torch.from_numpy(parents)), remaining


def _split(ends_of: Mapping[int, list[int]], before: Places, after: Places) -> np.ndarray:
    """Return how scores make the fields of the corners, and which scores stay.

    Args:
        ends_of: the neighbours of each bit of the round, at most two.
        before: the place of each score before the round, a row of the result.
        after: the place of each score after it. The columns of the result are the fields of the
            corners, then these scores.
    """
    v = len(ends_of)
    split = np.zeros((len(before), 4 * v + len(after)))
    # Scores of bits that stay are copied.
    for bits in before.keys() & after.keys():
        split[before[bits], 4 * v + after[bits]] = 1
    # A chosen bit has at most two neighbours, so four corners: one score for each pair of values.
    for place, (i, ends) in enumerate(ends_of.items()):
        for corner, values in enumerate(CORNERS):
            split[before[(i,)], corner * v + place] = 1
            for j, value in zip(ends, values, strict=False):
                split[before[_pair(i, j)], corner * v + place] = value
    return split


def _merge(ends_of: Mapping[int, list[int]], after: Places) -> np.ndarray:
    """Return how sums over a bit become scores of its neighbours and of their pair.

    Args:
        ends_of: the neighbours of each bit of the round.
        after: the place of each score after the round, a column of the result. Its rows are the
            corners.
    """
    v = len(ends_of)
    merge = np.zeros((4 * v, len(after)))
    for place, ends in enumerate(ends_of.values()):
        for bits, shares in _shares(ends).items():
            for corner, share in shares.items():
                merge[corner * v + place, after[bits]] += share
    return merge


def _pair(i: int, j: int) -> tuple[int, int]:
    return min(i, j), max(i, j)


def _shares(ends: list[int]) -> dict[tuple[int, ...], dict[int, int]]:
    """Return how the softplus at each corner adds to the scores of the neighbours of a bit.

    f(z_a, z_b) = f(0, 0) + (f(1, 0) - f(0, 0)) z_a + (f(0, 1) - f(0, 0)) z_b
    + (f(1, 1) - f(1, 0) - f(0, 1) + f(0, 0)) z_a z_b.
    """
    shares: dict[tuple[int, ...], dict[int, int]] = {(): {0: 1}}
    if ends:
        shares[(ends[0],)] = {1: 1, 0: -1}
    if len(ends) == 2:
        shares[(ends[1],)] = {2: 1, 0: -1}
        shares[_pair(*ends)] = {3: 1, 2: -1, 1: -1, 0: 1}
    return shares
