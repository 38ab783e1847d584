"""Unit vectors of low rank that stand for the vertices of a maximum cut.

Whether a cut contains an edge is x_e = (1 - s_i s_j) / 2, with the sides s_i = +1 and -1. The
relaxation replaces s_i by unit vectors v_i, so that x_e becomes (1 - v_i.v_j) / 2. For weights r
the vectors of largest r x satisfy sum_j r_ij v_j = -d_i v_i, and then diag(d) + R is positive
semidefinite.

References:
    Burer, Monteiro (2003), A nonlinear programming algorithm for solving semidefinite programs via
    low-rank factorization.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ...limits.deadline import Deadline
from .quasi_newton import minimise

DENSE = 0.05
"""Share of all pairs from which on one matrix product gives the x_e faster than edge by edge."""

Lagrangian: TypeAlias = Callable[[np.ndarray], tuple[float, np.ndarray]]
"""Returns the value and the slopes `[m]` at x `[m]`."""


class Vectors:
    """The vectors of the vertices of a graph.

    Attributes:
        values: `[vertices, rank]`, of length 1.
    """

    def __init__(self, vertices: int, edges: np.ndarray, seed: int = 0) -> None:
        """Draw random vectors.

        Args:
            vertices: number of vertices.
            edges: `[m, 2]`, distinct pairs.
            seed: seed of the random numbers.
        """
        # A local maximum of a rank above sqrt(2 n) is nearly always a global one.
        rank = math.isqrt(2 * vertices) + 2
        drawn = np.random.default_rng(seed).standard_normal((vertices, rank))
        self.values = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
        self._first = edges[:, 0]
        self._second = edges[:, 1]
        self._matrix = np.zeros((vertices, vertices))
        self._dense = 2 * len(edges) > DENSE * vertices**2

    def x(self, values: np.ndarray) -> np.ndarray:
        """Return (1 - v_i.v_j) / 2 of every edge, `[m]`."""
        if self._dense:
            products = (values @ values.T)[self._first, self._second]
        else:
            products = np.einsum("er,er->e", values[self._first], values[self._second])
        return np.asarray((1.0 - products) / 2)

    def matrix(self, weights: np.ndarray) -> np.ndarray:
        """Return the symmetric matrix R `[vertices, vertices]` of weights `[m]`.

        The next call overwrites it.
        """
        self._matrix[self._first, self._second] = weights
        self._matrix[self._second, self._first] = weights
        return self._matrix

    def lengths(self, weights: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the lengths `[vertices]` of the fields sum_j r_ij v_j."""
        return np.asarray(np.linalg.norm(self.matrix(weights) @ values, axis=1))

    def ascended(self, lagrangian: Lagrangian, steps: int, deadline: Deadline) -> np.ndarray:
        """Return vectors of a larger value, by some steps from the current ones."""

        def function(points: np.ndarray) -> tuple[float, np.ndarray]:
            # The function sees unit vectors only, so the minimiser needs no constraint.
            norms = np.linalg.norm(points, axis=1, keepdims=True)
            values = points / norms
            value, slopes = lagrangian(self.x(values))
            # The slope of v_i is -1/2 sum_j r_ij v_j; only its part across v_i changes v_i.
            gradient = 0.5 * (self.matrix(slopes) @ values)
            gradient -= np.einsum("ir,ir->i", gradient, values)[:, None] * values
            return -value, gradient / norms

        _, slopes = lagrangian(self.x(self.values))
        # The inverse of the mean diagonal is about the inverse curvature along a vector.
        length = 1.0 / max(float(self.lengths(slopes, self.values).mean()), 1e-300)
        points = minimise(function, self.values, length, steps, deadline)
        return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))
