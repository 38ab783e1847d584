"""Compute how much the flip of each single variable adds to a score."""

from __future__ import annotations

import numpy as np

from ..arrays import States
from .problem import Problem


def flip_gains(problem: Problem, z: np.ndarray) -> np.ndarray:
    """Return `[n]`, the gain of flipping each variable of a state `[n]` of a single instance."""
    field = problem.unary[0].astype(np.float64)
    for here, there in (problem.topology.pairs.T, problem.topology.pairs.T[::-1]):
        field += np.bincount(here, problem.pairwise[0] * z[there], problem.n)
    return np.asarray((1 - 2 * z) * field)


def flip_gains_of_each(problem: Problem, z: States) -> np.ndarray:
    """Return `[batch, n]`, the gain of flipping each variable of a state `[batch, n]`."""
    field = problem.unary.astype(np.float64)
    for here, there in (problem.topology.pairs.T, problem.topology.pairs.T[::-1]):
        order = np.argsort(here, kind="stable")
        ends, starts = np.unique(here[order], return_index=True)
        if len(ends):
            terms = problem.pairwise[:, order] * z[:, there[order]]
            field[:, ends] += np.add.reduceat(terms, starts, axis=1)
    return np.asarray((1 - 2 * z) * field)
