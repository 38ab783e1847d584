"""Differentiate all marginals along a direction of the scores, at small treewidth.

This is forward-mode differentiation of `sum_product`: a step's message, the shares of its variable
and the flows each have a rate of change. It equals Cov(phi, phi . direction), with phi the z_i and
the z_i z_j of the edges.
"""

from __future__ import annotations

import numpy as np

from ..algorithms.elimination.plan import Plan
from ..arrays import Pairwise, Unary
from ..compiled._kernels import gibbs_distribution as kernels
from .sum_product import over_lanes

BYTES = 48  # per entry: the most of all passes in this folder


def covariance_product(
    plan: Plan, unary: Unary, pairwise: Pairwise, direction: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Return Cov(phi, phi . direction), `[batch, n + e]`.

    Args:
        plan: the plan of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        direction: `[batch, n + e]`, finite.
        threads: maximum number of threads; None for all cores.
    """
    scores = (unary, pairwise, direction[:, : plan.n], direction[:, plan.n :])
    arrays = [np.require(array, np.float64, ["C", "W"]) for array in scores]
    ones = np.empty((len(unary), plan.n))
    pairs = np.empty((len(unary), plan.edges))
    over_lanes(
        kernels.covary, plan, (*arrays, ones, pairs), threads, passes=2, bytes_an_entry=BYTES
    )
    return np.concatenate((ones, pairs), axis=1)
