"""Solve one small instance from raw arrays in one call of a kernel.

The checks of a problem and of its answer take ten times as long as a search of 2^15 states. The
kernel does the same checks in the same order. Whatever needs another look, such as scores that are
not finite, is left to the checks of `Problem` and `ArgmaxSolver`, which have messages for it.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any, Final

import numpy as np

from ...compiled._kernels import exhaustive as kernels
from ...problems.problem import LARGEST_MAGNITUDE
from ...problems.topology import Topology
from ...solution import Solution
from .positions import positions_of

MAX_VARIABLES: Final = 16
"""Largest number of variables; for more, the search takes longer than the checks."""


def solve_matrix(unary: Any, pairwise: Any) -> Solution[np.ndarray] | None:
    """Return the solution of one instance, or None where it needs another look.

    Args:
        unary: `[n]` float64 in C order; anything else gives None.
        pairwise: `[n, n]` float64 in C order, upper triangular or symmetric.
    """
    start = perf_counter()
    if not _is_small(unary, pairwise):
        return None
    z = np.empty(len(unary), np.int8)
    try:
        score = kernels.maximise_matrix(unary, pairwise, LARGEST_MAGNITUDE, z)
    except TypeError:  # of another kind, type or layout
        return None
    return _certified(z, score, start)


def solve_pairs(topology: Topology, unary: Any, pairwise: Any) -> Solution[np.ndarray] | None:
    """Return the solution of one instance over known pairs, or None where it needs another look.

    Args:
        topology: the pairs; there must be some.
        unary: `[n]` float64 in C order; anything else gives None.
        pairwise: `[e]` float64 in C order.
    """
    start = perf_counter()
    if not _is_small(unary, pairwise) or len(unary) != topology.n or not topology.e:
        return None
    z = np.empty(len(unary), np.int8)
    positions = topology.recall(positions_of)
    try:
        score = kernels.maximise_pairs(
            positions, topology.pairs, unary, pairwise, LARGEST_MAGNITUDE, z
        )
    except TypeError:  # of another kind, type or layout
        return None
    return _certified(z, score, start)


def _is_small(unary: Any, pairwise: Any) -> bool:
    """Return whether both are arrays of numpy, of one instance of few variables."""
    if type(unary) is not np.ndarray or type(pairwise) is not np.ndarray:
        return False
    return unary.ndim == 1 and len(unary) <= MAX_VARIABLES


def _certified(z: np.ndarray, score: float | None, start: float) -> Solution[np.ndarray] | None:
    """Return the solution of an exhaustive argument, whose score is its own bound."""
    if score is None:
        return None
    stats = {"states": 2 ** len(z)}
    return Solution(z, score, True, score, "exhaustive", stats, perf_counter() - start)
