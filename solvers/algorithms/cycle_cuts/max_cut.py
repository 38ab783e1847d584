"""A binary pairwise problem as a maximum cut with whole weights.

A state is a cut: z_i is the side of vertex i seen from one more vertex, to which the fields become
edges. Where no field is left, that vertex has no edge and is left out.

References:
    Hammer (1965), Some network flow problems solved with pseudo-Boolean programming.
    Barahona, Mahjoub (1986), On the cut polytope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from ...problem import EPSILON, Problem
from ..precision.units import Units, to_units


@dataclass(frozen=True, eq=False)
class MaxCut:
    """Twice the score of a state, in units, is the weight of its cut.

    Attributes:
        n: number of variables of the problem.
        vertices: n, or n + 1 with the vertex of the fields, the last one.
        edges: `[m, 2]`, `i < j`, those of nonzero weight.
        weights: `[m]`, whole; their magnitudes sum to less than 2^56.
        step: every cut's weight is a multiple of it.
        margin: a better state that is better by no more than that is within the rounding of the
            scores.
        units: of the problem's scores.
    """

    n: int
    vertices: int
    edges: Int[np.ndarray, "m 2"]
    weights: Int[np.ndarray, "m"]
    step: int
    margin: int
    units: Units

    @classmethod
    def of(cls, problem: Problem) -> MaxCut:
        """The cut of a single instance on the host."""
        n, edges = problem.n, problem.edges
        units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
        whole = units.values.astype(np.int64)
        unary, pairwise = whole[:n], whole[n:]
        field = 2 * unary
        np.add.at(field, edges[:, 0], pairwise)
        np.add.at(field, edges[:, 1], pairwise)
        joined = pairwise != 0
        pulled = np.flatnonzero(field)
        spokes = np.stack((pulled, np.full(len(pulled), n)), axis=-1)
        ends = np.concatenate((edges[joined], spokes))
        weights = np.concatenate((-pairwise[joined], field[pulled]))
        return cls(
            n,
            n + bool(len(pulled)),
            ends,
            weights,
            _step(n + 1, ends, weights),
            _margin(units),
            units,
        )

    def weight(self, z: np.ndarray) -> int:
        """Of the cut of a state `[n]`."""
        return int(self.weights[self.crossed(z)].sum())

    def crossed(self, z: np.ndarray) -> np.ndarray:
        """`[m]`: whether the cut of a state `[n]` has each edge."""
        side = np.append(z, 0)[: self.vertices]
        return np.asarray(side[self.edges[:, 0]] != side[self.edges[:, 1]])

    def state(self, side: np.ndarray) -> np.ndarray:
        """`[n]` int8: the state of a cut, given the side `[vertices]` of every vertex."""
        origin = side[self.n] if self.vertices > self.n else side[0]
        return np.asarray(side[: self.n] != origin, np.int8)

    def rounded_down(self, bound: int) -> int:
        """The largest weight of a cut that `bound` allows."""
        return bound // self.step * self.step

    def score_bound(self, bound: int) -> float:
        """A bound on the scores of the problem, from one on the weights of cuts."""
        scores = bound / 2 if abs(bound) < 2**53 else math.nextafter(bound / 2, math.inf)
        if self.units.error:
            scores = math.nextafter(scores + self.units.error, math.inf)
        return self.units.upper_bound(scores)


def _step(vertices: int, edges: np.ndarray, weights: np.ndarray) -> int:
    """A common divisor of all cuts.

    Moving a vertex to the other side changes the weight by the sum of its edges, up to an even
    multiple of the divisor of all weights.
    """
    degrees = np.zeros(vertices, np.int64)
    np.add.at(degrees, edges[:, 0], weights)
    np.add.at(degrees, edges[:, 1], weights)
    return max(1, math.gcd(2 * int(np.gcd.reduce(weights, initial=0)), int(np.gcd.reduce(degrees))))


def _margin(units: Units) -> int:
    """In units of cuts; nothing where the unit is a common measure, since there a better state is a unit better.

    A quarter of what `Problem.rounding` allows, since presolve may have used up half of that for
    roundings of its own.
    """
    if units.common:
        return 0
    tolerance = EPSILON / 2 * len(units.values) * math.fsum(np.abs(units.values))
    return max(0, int(2 * (tolerance - 2.0 * units.error)))
