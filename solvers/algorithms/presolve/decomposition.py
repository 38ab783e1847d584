"""Decompose an instance into the parts that remain for a search.

The rules shrink the graph, articulation points split it, and both repeat on every block. Scores
become whole numbers first (`precision.units`), so that all steps are exact. The bound accounts for
the rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import home_of
from ...limits.deadline import Deadline
from ...problems.problem import Problem
from ...problems.topology import Topology
from ..precision.units import Units, to_units
from .blocks import blocks_of, numbered
from .reduction import Reduced, reduced
from .rules import RULES, Log, restore, shrink
from .spin_graph import SpinGraph

if TYPE_CHECKING:
    from jaxtyping import Float, Int

SECONDS_A_NODE = 1e-5
"""Maximum time per node of the rules, in seconds, on a slow machine."""

SECONDS_AN_EDGE = 1e-6
"""Maximum time per edge of the search for blocks, in seconds, on a slow machine."""


@dataclass(frozen=True, eq=False)
class Part:
    """A subproblem for the search: connected nodes that no rule takes out.

    Attributes:
        graph: the spin graph of these nodes.
        names: `[nodes]`, their numbers in the whole instance.
        reference: the node whose spin is fixed, so that `problem` has one variable fewer.
        problem: a single instance whose scores are whole numbers; rounded real numbers count as
            such, not as whole numbers.
        constant: the sum over the edges is 4 score - constant.
        moved: by how much the rounding to float64 can change a score of `problem`.
    """

    graph: SpinGraph
    names: Int[np.ndarray, "nodes"]
    reference: int
    problem: Problem
    constant: int
    moved: int

    @classmethod
    def of(cls, graph: SpinGraph, names: np.ndarray, exact: bool) -> Part:
        """Return the part that a graph makes, with its problem.

        Args:
            graph: the nodes and edges.
            names: `[nodes]`, their numbers in the whole instance.
            exact: whether the units did not round the scores.
        """
        # The edges of the reference become unary scores: the busiest node leaves the fewest pairs.
        reference = graph.busiest()
        unary, pairwise, edges, constant = graph.scores(reference)
        problem = single_instance(unary, pairwise, edges)
        if not exact:
            # Else each certificate would allow for rounding that hides meaningless units.
            problem = problem.as_real_numbers()
        moved = sum(
            int(np.abs(floats[0].astype(np.int64) - scores).sum())
            for floats, scores in ((problem.unary, unary), (problem.pairwise, pairwise))
        )
        return cls(graph, names, reference, problem, constant, moved)

    def state(self, spins: np.ndarray) -> np.ndarray:
        """Return the state `[n]` of this part's variables, from the spins of the whole instance."""
        here = spins[self.names]
        return np.delete(here == here[self.reference], self.reference).astype(np.int8)

    def spins(self, state: np.ndarray) -> np.ndarray:
        """Return the spins `[nodes]` of this part, from a state of its variables."""
        return np.insert(2 * state.astype(np.int64) - 1, self.reference, 1)

    def bound(self, proved: float) -> int:
        """Return a bound on the sum over the edges, from a bound on the score of `problem`."""
        highest = int(np.abs(self.graph.weight).sum())
        if not proved < math.inf:
            return highest
        return min(highest, 4 * (math.floor(proved) + self.moved) - self.constant)


@dataclass(frozen=True, eq=False)
class Piece:
    """A graph that the rules shrunk, and the blocks or the part that remain of it.

    Attributes:
        place: `[nodes]`, the numbers of its nodes in the piece that it is a block of.
        log: the nodes that were taken out.
        blocks: the numbers of the pieces that the remaining graph was split into. Read from the
            last one on, every block shares at most one node with the blocks before.
        left: the remaining nodes, where the remaining graph was not split.
    """

    place: Int[np.ndarray, "nodes"]
    log: Log
    blocks: range
    left: Int[np.ndarray, "rest"] | None


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The parts of an instance, and the way back from their states to a state of the instance.

    Attributes:
        parts: the subproblems, the smallest first.
        removed: how many nodes each of `RULES` took out.
    """

    parts: tuple[Part, ...]
    removed: Int[np.ndarray, "rules"]
    _free: Reduced
    _pieces: tuple[Piece, ...]
    _owners: tuple[int, ...]
    _constant: int
    _scale: int
    _units: Units

    def states(self, z: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the state of every part, from a state `[n]` of the instance."""
        spins = np.append(2 * z[self._free.fixed < 0].astype(np.int64) - 1, 1)
        return tuple(piece.state(spins) for piece in self.parts)

    def state(self, states: Sequence[np.ndarray]) -> Int[np.ndarray, "n"]:
        """Return the state of the instance, from the states of its parts."""
        solutions = [np.ones(len(piece.place), np.int64) for piece in self._pieces]
        for owner, rest, state in zip(self._owners, self.parts, states, strict=True):
            solutions[owner][self._pieces[owner].left] = rest.spins(state)
        # Blocks come after the piece that they split: this loop completes them before that piece.
        for piece, spins in zip(reversed(self._pieces), reversed(solutions), strict=True):
            if piece.blocks:
                blocks = [(self._pieces[k].place, solutions[k]) for k in reversed(piece.blocks)]
                _join(blocks, spins)
            restore(piece.log, spins)
        # The last node stands for the constant: a bit is 1 where its spin agrees with it.
        whole = solutions[0]
        return self._free.lift(np.asarray(whole[:-1] == whole[-1], np.int8))

    def bound(self, proved: Sequence[float]) -> float:
        """Return the bound on the score of the instance, from the bounds on the parts' problems."""
        total = self._constant + sum(
            piece.bound(bound) for piece, bound in zip(self.parts, proved, strict=True)
        )
        bound = total / (4 * self._scale)  # to nearest
        if 4 * self._scale * Fraction(bound) < total:
            bound = math.nextafter(bound, math.inf)
        if self._units.error:
            bound = math.nextafter(bound + self._units.error, math.inf)
        return self._units.upper_bound(bound)


def decompose(
    unary: Float[np.ndarray, "n"],
    pairwise: Float[np.ndarray, "e"],
    edges: Int[np.ndarray, "e 2"],
    fixed: Int[np.ndarray, "n"],
    rules: Sequence[str] = RULES,
    deadline: Deadline | None = None,
) -> Decomposition:
    """Decompose an instance into parts.

    Args:
        unary: `[n]`.
        pairwise: `[e]`.
        edges: `[e, 2]`.
        fixed: `[n]`: 0 or 1, or -1 for a variable that is free.
        rules: the names of the rules to apply.
        deadline: time at which the rules stop and leave the rest as one part.

    Example:
        >>> square = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
        >>> whole = decompose(np.zeros(4), np.array([1.0, 2.0, -3.0, 1.0]), square, np.full(4, -1))
        >>> len(whole.parts), whole.state([]).tolist(), whole.bound([])
        (0, [1, 1, 1, 0], 3.0)
    """
    deadline = deadline or Deadline.after(None)
    # Whole numbers of a unit, so that the rules below add and compare without rounding.
    units = to_units(np.concatenate((unary, pairwise), dtype=np.float64))
    # Sums of these whole numbers are below 2^53.
    free = reduced(units.values[: len(unary)], units.values[len(unary) :], edges, fixed)
    graph, constant, scale = _spin_graph(free, units.common)
    allowed = np.array([rule in rules for rule in RULES])
    pieces: list[Piece] = []
    owned: list[tuple[int, Part]] = []
    waiting = [(graph, np.arange(graph.nodes), np.arange(graph.nodes))]
    # Invariant: `waiting[k]` becomes `pieces[k]`, and the blocks of a piece come after it.
    while len(pieces) < len(waiting):
        graph, names, place = waiting[len(pieces)]
        with deadline.flag(graph.nodes * SECONDS_A_NODE) as stop:
            log, joined, weight = shrink(graph.nodes, graph.edges, graph.weight, allowed, stop)
        constant += log.constant
        # After the deadline the piece stays whole, so that the rest ends quickly.
        blocks = list(_blocks(graph.nodes, joined, weight, deadline))
        following = range(0)
        rest = None
        if len(blocks) > 1:
            following = range(len(waiting), len(waiting) + len(blocks))
            # Rules may apply again within a block, so every block is reduced like a new graph.
            waiting += [(block, names[nodes], nodes) for block, nodes in blocks]
        elif blocks:
            block, rest = blocks[0]
            owned.append((len(pieces), Part.of(block, names[rest], units.common)))
        pieces.append(Piece(place, log, following, rest))
    # Small parts first: the time that they leave passes to the larger ones.
    owned.sort(key=lambda entry: entry[1].graph.nodes)
    removed = np.sum([piece.log.counts for piece in pieces], axis=0)
    owners = tuple(owner for owner, _ in owned)
    parts = tuple(entry[1] for entry in owned)
    return Decomposition(parts, removed, free, tuple(pieces), owners, constant, scale, units)


def _spin_graph(free: Reduced, exact: bool) -> tuple[SpinGraph, int, int]:
    """Return the graph of scores in whole units times a scale, its constant, and the scale.

    Args:
        free: the scores.
        exact: whether the units did not round them. Fields that rounding makes are left out.
    """
    scale = 1
    if not exact:
        scale = 2  # `without_noise` needs even weights
    unary = scale * free.unary.astype(np.int64)
    pairwise = scale * free.pairwise.astype(np.int64)
    graph, constant = SpinGraph.of_scores(unary, pairwise, free.edges)
    constant += 4 * scale * int(free.constant)
    if not exact:
        graph, dropped = graph.without_noise(scale)
        constant += dropped
    return graph, constant, scale


def single_instance(unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray) -> Problem:
    """Return the problem of scores `[n]` and `[e]` that our own code made, without checking them.

    Example:
        >>> single_instance(np.ones(1, np.float32), np.empty(0), np.empty((0, 2), np.int64)).unary
        array([[1.]])
    """
    unary = unary.astype(np.float64)[None]
    pairwise = pairwise.astype(np.float64)[None]
    return Problem(unary, pairwise, Topology(len(unary[0]), edges), (1,), home_of(unary))


def _blocks(
    nodes: int, edges: np.ndarray, weight: np.ndarray, deadline: Deadline
) -> Iterator[tuple[SpinGraph, np.ndarray]]:
    """Yield the blocks of a graph, with their node numbers; the whole graph where time is up."""
    if not len(edges):
        return
    with deadline.flag(len(edges) * SECONDS_AN_EDGE) as stop:
        number, count = blocks_of(nodes, edges, stop)
    order = np.argsort(number, kind="stable")
    starts = np.bincount(number).cumsum()[:-1]
    blocks: Sequence[np.ndarray | slice] = [slice(None)]
    if count > 1:
        blocks = np.split(order, starts)
    for chosen in blocks:
        names, ends = numbered(nodes, edges[chosen])
        yield SpinGraph(len(names), ends, weight[chosen]), names


def _join(blocks: list[tuple[np.ndarray, np.ndarray]], spins: np.ndarray) -> None:
    """Write the spins of blocks, flipped so that they agree at shared nodes; others stay."""
    written = np.zeros(len(spins), bool)
    for place, solution in blocks:
        meet = written[place]
        turned = meet.any() and (solution != spins[place])[meet].any()
        if turned:
            solution = -solution
        spins[place] = solution
        written[place] = True
