"""Cut one small supermodular instance, from raw arrays to the answer in one call of a kernel.

The checks of a problem and of its answer take ten times as long as the cut. The kernel does the
same checks in the same order. Whatever needs another look, such as scores that are not finite or
negative scores of pairs, is left to the checks of `Problem` and `ArgmaxSolver`.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from ...compiled._kernels import max_flow as kernels
from ...problems.problem import LARGEST_MAGNITUDE
from ...problems.topology import Topology
from ...solution import Solution
from .one_word import MAX_NODES


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
    if n > MAX_NODES:
        return None
    z = np.empty(n, np.int8)
    if topology is None:
        answer = kernels.maximise_matrix(unary, pairwise, LARGEST_MAGNITUDE, z)
    else:
        answer = kernels.maximise_pairs(topology.pairs, unary, pairwise, LARGEST_MAGNITUDE, z)
    if answer is None:
        return None
    score, bound, proved = answer
    return Solution(z, score, proved, bound, "max_flow", {}, perf_counter() - begin)
