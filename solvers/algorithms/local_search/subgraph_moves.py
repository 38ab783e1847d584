"""Move most variables at once: set a large subgraph of small width to its best states.

Taking out a seventh of the variables of a large grid leaves a graph of width 14. Max-sum then sets
all remaining variables at once to their best states, given the others. After a few such moves a
state is the best of a huge neighbourhood.

References:
    Hamze, de Freitas (2004), From fields to trees.
    Selby (2014), Efficient subgraph-based sampling of Ising-type models with frustration.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Edges
from ...limits.deadline import Deadline
from ...problems.problem import Problem
from ..elimination.max_sum import max_sum
from ..elimination.plan import Plan, elimination_plan
from .subgraph_order import subgraph_order
from .tabu_runs import TabuRuns

if TYPE_CHECKING:
    from jaxtyping import Int

WIDTH = 14
"""Width of a subgraph: its tables have up to 16,384 entries."""

PARTS = 8
"""Subgraphs in use. Their plans take ten times as long as a move, so they are used again."""

RENEWED = 1 / 32
"""Chance, per move, that a new subgraph replaces the oldest one.

A state that no subgraph of a fixed set improves is not yet the best."""

PATIENCE = 3
"""Moves in a row without gain that end a descent."""

TABU_UP_TO = 2048
"""Greatest n at which a descent starts from the end of a tabu run, which takes a time of n^2."""

LARGEST_PART = 8192
"""Largest number of variables of a subgraph; larger problems are covered by several."""


@dataclass(frozen=True, eq=False)
class Part:
    """A subgraph, with everything that does not depend on the state of the other variables.

    Attributes:
        inside: `[m]`, its variables.
        plan: the elimination plan of the edges between them.
        inner: `[k]`, these edges.
        near: `[l]`, for every edge that leaves the subgraph, the place in `inside` of its inner
            end.
        far: `[l]`, the variable at its outer end.
        edge: `[l]`, its number.
    """

    inside: Int[np.ndarray, "m"]
    plan: Plan
    inner: Int[np.ndarray, "k"]
    near: Int[np.ndarray, "l"]
    far: Int[np.ndarray, "l"]
    edge: Int[np.ndarray, "l"]

    @classmethod
    def of(cls, problem: Problem, order: np.ndarray) -> Part:
        """Build the subgraph of the variables in `order`, to be eliminated in that order."""
        inside = np.sort(order)
        place = np.full(problem.n, -1)
        place[inside] = np.arange(len(inside))
        ends = place[problem.edges]
        inner = np.flatnonzero((ends >= 0).all(axis=1))
        edge, side = np.nonzero((ends >= 0) & (ends[:, ::-1] < 0))
        plan = elimination_plan(len(inside), ends[inner], place[order])
        return cls(inside, plan, inner, ends[edge, side], problem.edges[edge, 1 - side], edge)

    def best(self, problem: Problem, z: np.ndarray) -> np.ndarray:
        """Return `z` with the subgraph set to its best states, up to rounding."""
        weights = problem.pairwise[0].astype(np.float64)
        fields = problem.unary[0, self.inside].astype(np.float64)
        np.add.at(fields, self.near, weights[self.edge] * z[self.far])
        moved = z.copy()
        moved[self.inside] = max_sum(self.plan, fields[None], weights[None, self.inner], 1)[0][0]
        return moved


class SubgraphMoves:
    """Moves by random subgraphs of one sparse problem, planned when they are first needed.

    Attributes:
        problem: a single instance on the host.
        generator: generator of subgraphs and random states.
    """

    def __init__(self, problem: Problem, generator: np.random.Generator):
        """Start without any plan."""
        self.problem = problem
        self.generator = generator
        self._parts: list[Part] = []

    def improved(self, z: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Return `z [n]` after moves, until some in a row gain nothing or the deadline passes."""
        score = self._score(z)
        stalled = 0
        while stalled < PATIENCE * self._cover and not deadline.passed:
            subgraph = self._subgraph()
            moved = subgraph.best(self.problem, z)
            gain = self._score(moved) - score
            # A gain within rounding may be none at all, and would keep the loop alive forever.
            if gain > self.problem.rounding[0]:
                stalled = 0
            else:
                stalled += 1
            # Moves that gain nothing are made as well: they cross plateaus.
            if gain >= 0:
                z = moved
                score += gain
            # The subgraph is the whole problem, so its best state is the maximum.
            if len(subgraph.inside) == self.problem.n:
                break
        return z

    def optimum(self, deadline: Deadline) -> np.ndarray:
        """Return a local optimum `[n]` of the moves, after a tabu run or from a random state."""
        if self.problem.n <= TABU_UP_TO:
            start = TabuRuns(self.problem, self.generator).optimum(deadline)
        else:
            start = self.generator.integers(0, 2, self.problem.n, dtype=np.int8)
        return self.improved(start, deadline)

    @property
    def _cover(self) -> int:
        """Number of subgraphs that could together contain all variables."""
        return -(-self.problem.n // LARGEST_PART)

    def _subgraph(self) -> Part:
        if len(self._parts) == PARTS * self._cover and self.generator.random() < RENEWED:
            self._parts.pop(0)
        if len(self._parts) < PARTS * self._cover:
            self._parts.append(Part.of(self.problem, self._random_order()))
            return self._parts[-1]
        return self._parts[self.generator.integers(len(self._parts))]

    def _random_order(self) -> np.ndarray:
        n = self.problem.n
        edges = self.problem.edges
        near = np.arange(n)
        if n > LARGEST_PART:
            near = _ball(n, edges, LARGEST_PART, self.generator)
        place = np.full(n, -1)
        place[near] = np.arange(len(near))
        ends = place[edges]
        order = subgraph_order(len(near), ends[(ends >= 0).all(axis=1)], WIDTH, self.generator)
        return np.asarray(near[order])

    def _score(self, z: np.ndarray) -> float:
        return float(self.problem.score_flat(z[None])[0])


def _ball(n: int, edges: Edges, size: int, generator: np.random.Generator) -> np.ndarray:
    """Return `size` variables around a random one, or around several if components are small."""
    inside = np.zeros(n, bool)
    count = 0
    while count < size:
        reached = edges[inside[edges].any(axis=1)]
        inside[reached] = True
        # A whole component is inside: go on from other random variables.
        if inside.sum() == count:
            inside[generator.integers(0, n, 1 + (size - count) // 16)] = True
        count = inside.sum()
    return generator.choice(np.flatnonzero(inside), size, replace=False)
