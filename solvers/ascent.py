"""One-flip ascent in float64, the last digits that a floating-point backend leaves."""

from __future__ import annotations

import numpy as np

from .arrays import States
from .problem import Problem


def ascend(problem: Problem, z: States) -> States:
    """`[batch, n]`: `z` after flips, the best first, until none gains; host problems only."""
    z = z.copy()
    instances = np.arange(problem.batch)
    for _ in range(problem.n):
        gain = _field(problem, z) * (1 - 2 * z)
        best = gain.argmax(axis=1)
        gains = gain[instances, best] > 0
        if not gains.any():
            break
        z[instances[gains], best[gains]] ^= 1
    return z


def _field(problem: Problem, z: States) -> np.ndarray:
    """`[batch, n]`: what z_i = 1 adds to z_i = 0."""
    field: np.ndarray = problem.unary.astype(np.float64)
    weights = problem.pairwise.astype(np.float64)
    for here, there in ((0, 1), (1, 0)):
        np.add.at(field.T, problem.edges[:, here], (weights * z[:, problem.edges[:, there]]).T)
    return field
