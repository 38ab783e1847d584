"""Represent a binary pairwise problem as a maximum cut with whole weights.

A state is a cut: z_i says whether vertex i and one additional vertex are on different sides. The
fields become edges to that vertex. Where all fields are zero, it has no edge and is left out.

References:
    Hammer (1965), Some network flow problems solved with pseudo-Boolean programming.
    Barahona, Mahjoub (1986), On the cut polytope.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...problems.problem import EPSILON, Problem
from ..precision.units import Units, to_units

if TYPE_CHECKING:
    from jaxtyping import Int


@dataclass(frozen=True, eq=False)
class MaxCut:
    """A maximum cut; twice the score of a state, in units, is the weight of its cut.

    Attributes:
        n: number of variables of the problem.
        vertices: n, or n + 1 with the additional vertex of the fields, the last one.
        edges: `[m, 2]`, `i < j`, the edges of nonzero weight.
        weights: `[m]`, whole; their magnitudes sum to less than 2^56.
        step: a common divisor of the weights of all cuts.
        margin: improvements of a cut up to this weight are within the rounding of the scores.
        units: the units of the problem's scores.
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
        """Return the maximum cut of a single instance on the host."""
        n = problem.n
        edges = problem.edges
        units = to_units(np.concatenate((problem.unary[0], problem.pairwise[0]), dtype=np.float64))
        whole = units.values.astype(np.int64)
        unary = whole[:n]
        pairwise = whole[n:]
        # With x = (1 + s) / 2, spin i feels 2 unary_i + sum_j w_ij: an edge to a hub of fixed spin.
        field = 2 * unary
        np.add.at(field, edges[:, 0], pairwise)
        np.add.at(field, edges[:, 1], pairwise)
        # An edge without weight would only slow down the search.
        joined = pairwise != 0
        pulled = np.flatnonzero(field)
        spokes = np.stack((pulled, np.full(len(pulled), n)), axis=-1)
        ends = np.concatenate((edges[joined], spokes))
        weights = np.concatenate((-pairwise[joined], field[pulled]))
        vertices = n + bool(len(pulled))
        step = _step(n + 1, ends, weights)
        return cls(n, vertices, ends, weights, step, _margin(units), units)

    def weight(self, z: np.ndarray) -> int:
        """Return the weight of the cut of a state `[n]`."""
        return int(self.weights[self.crossed(z)].sum())

    def crossed(self, z: np.ndarray) -> np.ndarray:
        """Return `[m]`, whether the cut of a state `[n]` contains each edge."""
        side = np.append(z, 0)[: self.vertices]
        return np.asarray(side[self.edges[:, 0]] != side[self.edges[:, 1]])

    def state(self, side: np.ndarray) -> np.ndarray:
        """Return the state `[n]` int8 of a cut, from the sides `[vertices]` of the vertices."""
        if self.vertices > self.n:
            origin = side[self.n]
        else:
            origin = side[0]
        return np.asarray(side[: self.n] != origin, np.int8)

    def rounded_down(self, bound: int) -> int:
        """Return the largest weight of a cut that `bound` allows."""
        return bound // self.step * self.step

    def score_bound(self, bound: int) -> float:
        """Return a bound on the scores of the problem, from a bound on the weights of cuts."""
        # Half of a whole number is exact in float64 below 2^53, and rounded up beyond.
        if abs(bound) < 2**53:
            scores = bound / 2
        else:
            scores = math.nextafter(bound / 2, math.inf)
        if self.units.error:
            scores = math.nextafter(scores + self.units.error, math.inf)
        return self.units.upper_bound(scores)


def _step(vertices: int, edges: np.ndarray, weights: np.ndarray) -> int:
    """Return a common divisor of the weights of all cuts.

    Moving a vertex to the other side changes the weight by the sum of its edges, up to an even
    multiple of the divisor of all weights.
    """
    degrees = np.zeros(vertices, np.int64)
    np.add.at(degrees, edges[:, 0], weights)
    np.add.at(degrees, edges[:, 1], weights)
    divisor = int(np.gcd.reduce(weights, initial=0))
    return max(1, math.gcd(2 * divisor, int(np.gcd.reduce(degrees))))


def _margin(units: Units) -> int:
    """Return the margin in units of cuts: 0 where the unit is a common measure.

    There a better state is better by at least a unit. Otherwise the margin is a quarter of
    `Problem.rounding`, since presolve may have used half of that for its own rounding.
    """
    if units.common:
        return 0
    tolerance = EPSILON / 2 * len(units.values) * math.fsum(np.abs(units.values))
    return max(0, int(2 * (tolerance - 2.0 * units.error)))
