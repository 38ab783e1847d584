"""Try all states of one small instance, from raw arrays to the answer in one call of a kernel.

The checks of a problem and of its answer take ten times as long as a search of 2^15 states. The
kernel does the same checks in the same order. Whatever needs another look, such as scores that are
not finite, is left to the checks of `Problem` and `ArgmaxSolver`, which have messages for it.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ...compiled._kernels import exhaustive as kernels
from ...problems.problem import LARGEST_MAGNITUDE
from ...problems.topology import Topology
from ...solution import Solution
from .positions import positions_of

MAX_VARIABLES = 16
"""Largest number of variables; for more, the search takes longer than the checks."""


def solve_at_once(
    topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, begin: float
) -> Solution[np.ndarray] | None:
    """Return the solution of one instance, or None where it needs another look.

    Args:
        topology: the pairs, at least one; None where `pairwise` is a matrix.
        unary: `[n]`, float64.
        pairwise: `[e]`, or `[n, n]`, upper triangular or symmetric; float64.
        begin: when the call began, by `perf_counter`.

    Raises:
        TypeError: an array has another type or layout.
    """
    n = len(unary)
    if n > MAX_VARIABLES:
        return None
    z = np.empty(n, np.int8)
    if topology is None:
        score = kernels.maximise_matrix(unary, pairwise, LARGEST_MAGNITUDE, z)
    else:
        positions = topology.recall(positions_of)
        score = kernels.maximise_pairs(
            positions, topology.pairs, unary, pairwise, LARGEST_MAGNITUDE, z
        )
    if score is None:
        return None
    # The argument is exhaustive: the score is its own bound.
    stats = {"states": 2**n}
    return Solution(z, score, True, score, "exhaustive", stats, perf_counter() - begin)
