"""Update the bound of a certificate when vertices get their sides one after the other.

The frontier consists of the vertices with a side that have a neighbour without one. The residuals
and multipliers of the certificate bound the remaining weight: a cycle that is partly decided leaves
paths between vertices of the frontier. A path whose ends do not fit its edges in F misses at least
one of these edges. So the bound of a partial cut is its weight plus a sum over pairs of the
frontier, and a step changes few of these pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .certificate import Certificate, Cycles
from .max_cut import MaxCut

if TYPE_CHECKING:
    from jaxtyping import Int, UInt

MOST_SLOTS = 128
"""Largest number of vertices of a frontier, one bit each in two words."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """A maximum cut with a certificate; numbers are in units of the certificate.

    Attributes:
        vertices: number of vertices.
        edges: `[m, 2]`.
        residual: `[m]`, the weights minus the terms of the inequalities.
        cycles: k inequalities.
        multipliers: `[k]`.
    """

    vertices: int
    edges: Int[np.ndarray, "m 2"]
    residual: Int[np.ndarray, "m"]
    cycles: Cycles
    multipliers: Int[np.ndarray, "k"]

    @classmethod
    def of(cls, cut: MaxCut, certificate: Certificate) -> Weighed:
        """Combine a cut and its certificate."""
        return cls(
            cut.vertices,
            cut.edges,
            certificate.residual,
            certificate.cycles,
            certificate.multipliers,
        )

    @property
    def weights(self) -> np.ndarray:
        """`[m]`, the weights of which residuals and multipliers are a certificate."""
        weights = self.residual.copy()
        np.add.at(
            weights,
            self.cycles.edges,
            self.cycles.signs * np.repeat(self.multipliers, self.cycles.lengths),
        )
        return weights


@dataclass(frozen=True, eq=False)
class Steps:
    """The changes that each vertex makes; numbers are in units of the certificate.

    Attributes:
        order: `[n]`, the vertices.
        slot: `[n]`, for every step the bit of its vertex, which no vertex of the frontier has.
        constant: `[n]`, added to every bound.
        starts: `[n + 1]`, the first term of each step.
        first: `[terms]`, the slot of one vertex of a pair.
        second: `[terms]`, the slot of the other one; that of the step's vertex if the pair has it.
        change: `[terms]`, added where both are on different sides.
        kept: `[n, 2]`, the bits of the frontier after the step.
    """

    order: Int[np.ndarray, "n"]
    slot: Int[np.ndarray, "n"]
    constant: Int[np.ndarray, "n"]
    starts: Int[np.ndarray, "n1"]
    first: Int[np.ndarray, "terms"]
    second: Int[np.ndarray, "terms"]
    change: Int[np.ndarray, "terms"]
    kept: UInt[np.ndarray, "n 2"]

    @property
    def bits(self) -> int:
        """Number of slots."""
        return int(self.slot.max()) + 1

    @classmethod
    def of(cls, weighed: Weighed, order: np.ndarray) -> Steps | None:
        """Return the steps of an order `[n]`; None where its frontier is too large."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        layout = _slots(weighed.edges, order, place)
        if layout is None:
            return None
        slot, kept = layout
        changes = Changes(place)
        changes.weigh(weighed)
        for cycle in _walks(weighed):
            changes.split(*cycle)
        terms = changes.terms.items()
        # In the order of steps, so that the terms of a step are one slice.
        rows = sorted((step, a, b, change) for (step, a, b), change in terms if change)
        step, first, second, change = np.array(rows, np.int64).reshape(-1, 4).T
        starts = np.searchsorted(step, np.arange(len(order) + 1))
        slot_of = slot[place]
        return cls(
            order,
            slot,
            changes.constant,
            starts,
            slot_of[first],
            slot_of[second],
            change.copy(),
            kept,
        )


def _slots(
    edges: np.ndarray, order: np.ndarray, place: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the slot of every step's vertex, and the bits of the frontier after each step."""
    n = len(order)
    # After the step of its last neighbour, a vertex leaves the frontier and frees its slot.
    last = place.copy()
    np.maximum.at(last, edges[:, 0], place[edges[:, 1]])
    np.maximum.at(last, edges[:, 1], place[edges[:, 0]])
    leaving: list[list[int]] = [[] for _ in range(n)]
    slot = np.empty(n, np.int64)
    kept = np.zeros((n, 2), np.uint64)
    # Reversed, so that low slots go first and the frontier takes few bits.
    free = list(range(MOST_SLOTS))[::-1]
    bits = 0
    for step, v in enumerate(order.tolist()):
        if not free:
            return None
        slot[step] = free.pop()
        bits |= 1 << int(slot[step])
        leaving[last[v]].append(int(slot[step]))
        for gone in leaving[step]:
            bits ^= 1 << gone
            free.append(gone)
        # A frontier of up to 128 bits is two words.
        kept[step] = bits & (1 << 64) - 1, bits >> 64
    return slot, kept


class Changes:
    """The changes of all steps, summed up.

    Attributes:
        constant: `[n]`, by step.
        terms: by step and pair of vertices (the later one second), the change if their sides
            differ.
    """

    def __init__(self, place: np.ndarray):
        """Start without any change.

        Args:
            place: `[n]`, the step of every vertex.
        """
        self._step = place.tolist()
        self.constant = np.zeros(len(place), np.int64)
        self.terms: dict[tuple[int, int, int], int] = {}

    def weigh(self, weighed: Weighed) -> None:
        """Add edges: with both ends decided, the weight replaces the residual."""
        numbers = (weighed.edges.tolist(), weighed.weights.tolist(), weighed.residual.tolist())
        for (a, b), weight, residual in zip(*numbers, strict=True):
            step = max(self._step[a], self._step[b])
            self.constant[step] -= max(0, residual)
            self._add(step, a, b, weight)

    def split(self, vertices: list[int], odd: list[bool], y: int) -> None:
        """Add a cycle, each vertex of which splits a path of edges that are still to come.

        Args:
            vertices: the vertices of the cycle.
            odd: whether the edge after each vertex is in F.
            y: the multiplier.
        """
        size = len(vertices)
        # before[p] counts the edges in F before place p;
        # the cycle is walked twice, so paths may wrap.
        before = [0]
        for inside in odd * 2:
            before.append(before[-1] + inside)
        turn = [self._step[v] for v in vertices] * 2
        # Invariant: `paths` lists paths between decided vertices; the next vertex splits each.
        paths = [(begin := turn.index(min(turn)), begin + size)]
        while paths:
            a, b = paths.pop()
            middle = min(range(a + 1, b), key=turn.__getitem__)
            halves = [(a, middle), (middle, b)]
            longer = [half for half in halves if half[1] - half[0] > 1]
            # The term of the path goes, and those of its two halves come; an edge has no term.
            for sign, (c, d) in ((-y, (a, b)), *((y, half) for half in longer)):
                count = before[d] - before[c]
                self.constant[turn[middle]] += sign * (count - count % 2)
                # A path round the whole cycle joins a vertex
                # with itself: no pair is left, only a constant.
                if d - c < size:
                    if count % 2:
                        change = sign
                    else:
                        change = -sign
                    self._add(turn[middle], vertices[c % size], vertices[d % size], change)
            paths += longer

    def _add(self, step: int, a: int, b: int, change: int) -> None:
        if self._step[a] < self._step[b]:
            key = (step, a, b)
        else:
            key = (step, b, a)
        self.terms[key] = self.terms.get(key, 0) + change


def _walks(weighed: Weighed) -> Iterator[tuple[list[int], list[bool], int]]:
    """Yield each cycle's vertices, whether the edge after each is in F, and the multiplier."""
    ends = weighed.edges.tolist()
    cycles = weighed.cycles
    for k, y in enumerate(weighed.multipliers.tolist()):
        entries = slice(cycles.starts[k], cycles.starts[k + 1])
        edges = cycles.edges[entries].tolist()
        # The walk begins at the vertex that the last edge and the first one share.
        (v,) = set(ends[edges[-1]]) & set(ends[edges[0]])
        vertices = []
        for e in edges:
            vertices.append(v)
            # The other end of the edge.
            v = ends[e][0] + ends[e][1] - v
        yield vertices, cycles.odd[entries].tolist(), y
