"""Moves of most variables at once: a large part of small width is set to its best states, given all others.

A seventh of the variables of a large grid, taken out, leaves a graph of width 14. Max-sum then sets
all others at once to their best states; after a few such parts a state is the best of a huge
neighbourhood.

References:
    Hamze, de Freitas (2004), From fields to trees.
    Selby (2014), Efficient subgraph-based sampling of Ising-type models with frustration.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ...arrays import Edges
from ...limits.deadline import Deadline
from ...problem import Problem
from ..elimination.max_sum import max_sum
from ..elimination.plan import Plan, elimination_plan
from .subgraph_order import subgraph_order
from .tabu_runs import TabuRuns

WIDTH = 14
"""Of a part: its tables have up to 16,384 entries."""

PARTS = 8
"""Their plans take ten times as long as a move, so they are used again."""

RENEWED = 1 / 32
"""Chance of a move that the oldest part makes way for a new one: a state that all parts leave is not yet the best."""

PATIENCE = 3
"""Parts in a row without gain that end a descent."""

TABU_UP_TO = 2048
"""Greatest n at which a descent starts from the end of a tabu run, which takes a time of n^2."""

LARGEST_PART = 8192
"""Variables of a part; larger problems are covered by several."""


@dataclass(frozen=True, eq=False)
class Part:
    """A part of the variables, with all that does not depend on the state of the others.

    Attributes:
        inside: `[m]`, its variables.
        plan: of the edges between them.
        inner: those edges.
        near, far, edge: place in `inside` and variable outside of every edge that leaves the part,
        and the edge.
    """

    inside: Int[np.ndarray, "m"]
    plan: Plan
    inner: Int[np.ndarray, "k"]
    near: Int[np.ndarray, "l"]
    far: Int[np.ndarray, "l"]
    edge: Int[np.ndarray, "l"]

    @classmethod
    def of(cls, problem: Problem, order: np.ndarray) -> Part:
        """The part of the variables in `order`, which are eliminated in that order."""
        inside = np.sort(order)
        place = np.full(problem.n, -1)
        place[inside] = np.arange(len(inside))
        ends = place[problem.edges]
        inner = np.flatnonzero((ends >= 0).all(axis=1))
        edge, side = np.nonzero((ends >= 0) & (ends[:, ::-1] < 0))
        plan = elimination_plan(len(inside), ends[inner], place[order])
        return cls(inside, plan, inner, ends[edge, side], problem.edges[edge, 1 - side], edge)

    def best(self, problem: Problem, z: np.ndarray) -> np.ndarray:
        """`z` with the part set to its best states, up to rounding."""
        weights = problem.pairwise[0].astype(np.float64)
        fields = problem.unary[0, self.inside].astype(np.float64)
        np.add.at(fields, self.near, weights[self.edge] * z[self.far])
        moved = z.copy()
        moved[self.inside] = max_sum(self.plan, fields[None], weights[None, self.inner], 1)[0][0]
        return moved


class SubgraphMoves:
    """Descents by random parts of one sparse problem, planned when they are first wanted.

    Attributes:
        problem: a single instance on the host.
        generator: of parts and random states.
    """

    def __init__(self, problem: Problem, generator: np.random.Generator):
        """Plans nothing yet."""
        self.problem, self.generator = problem, generator
        self._parts: list[Part] = []

    def improved(self, z: np.ndarray, deadline: Deadline) -> np.ndarray:
        """`[n]`: `z` after moves, until some in a row gain nothing or the deadline."""
        score, stalled = self._score(z), 0
        while stalled < PATIENCE * self._cover and not deadline.passed:
            part = self._part()
            moved = part.best(self.problem, z)
            gain = self._score(moved) - score
            stalled = 0 if gain > self.problem.rounding[0] else stalled + 1
            if gain >= 0:
                z, score = moved, score + gain
            if len(part.inside) == self.problem.n:
                break
        return z

    def optimum(self, deadline: Deadline) -> np.ndarray:
        """`[n]`: what the moves make of the state after a tabu run, or of a random one."""
        if self.problem.n <= TABU_UP_TO:
            return self.improved(TabuRuns(self.problem, self.generator).optimum(deadline), deadline)
        return self.improved(self.generator.integers(0, 2, self.problem.n, dtype=np.int8), deadline)

    @property
    def _cover(self) -> int:
        """Parts that could together have all variables."""
        return -(-self.problem.n // LARGEST_PART)

    def _part(self) -> Part:
        if len(self._parts) == PARTS * self._cover and self.generator.random() < RENEWED:
            self._parts.pop(0)
        if len(self._parts) < PARTS * self._cover:
            self._parts.append(Part.of(self.problem, self._random_order()))
            return self._parts[-1]
        return self._parts[self.generator.integers(len(self._parts))]

    def _random_order(self) -> np.ndarray:
        n, edges = self.problem.n, self.problem.edges
        near = _ball(n, edges, LARGEST_PART, self.generator) if n > LARGEST_PART else np.arange(n)
        place = np.full(n, -1)
        place[near] = np.arange(len(near))
        ends = place[edges]
        order = subgraph_order(len(near), ends[(ends >= 0).all(axis=1)], WIDTH, self.generator)
        return np.asarray(near[order])

    def _score(self, z: np.ndarray) -> float:
        return float(self.problem.score_flat(z[None])[0])


def _ball(n: int, edges: Edges, size: int, generator: np.random.Generator) -> np.ndarray:
    """`[size]`: variables about a random one, and about more where its component has too few."""
    inside, count = np.zeros(n, bool), 0
    while count < size:
        reached = edges[inside[edges].any(axis=1)]
        inside[reached] = True
        if inside.sum() == count:
            inside[generator.integers(0, n, 1 + (size - count) // 16)] = True
        count = inside.sum()
    return generator.choice(np.flatnonzero(inside), size, replace=False)
