"""Cut one small supermodular instance, from raw arrays to the answer in one call of a kernel.

The checks of a problem and of its answer take ten times as long as the cut. The kernel does the
same checks in the same order. Unusual cases, such as scores that are not finite or negative scores
of pairs, go to the checks of `Problem` and `ArgmaxSolver`.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import max_flow as kernels
from ...problems.problem import LARGEST_MAGNITUDE
from ...problems.topology import Topology
from ...solution import AtOnce
from .one_word import MAX_NODES


def maximise_at_once(
    topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
) -> AtOnce | None:
    """Write the best state into `z`, as specified by `ArgmaxSolver.maximise_at_once`."""
    if z.ndim > 1 or len(unary) > MAX_NODES:
        return None
    if topology is None:
        answer = kernels.maximise_matrix(unary, pairwise, LARGEST_MAGNITUDE, z)
    else:
        answer = kernels.maximise_pairs(topology.pairs, unary, pairwise, LARGEST_MAGNITUDE, z)
    if answer is None:
        return None
    score, bound, proved = answer
    return score, bound, proved, {}
