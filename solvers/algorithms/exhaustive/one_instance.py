"""Try all states of one small instance, from raw arrays to the answer in one call of a kernel.

The checks of a problem and of its answer take ten times as long as a search of 2^15 states. The
kernel does the same checks in the same order. Unusual cases, such as scores that are not finite, go
to the checks of `Problem` and `ArgmaxSolver`, which have messages for them.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import exhaustive as kernels
from ...problems.problem import LARGEST_MAGNITUDE
from ...problems.topology import Topology
from ...solution import AtOnce
from .positions import positions_of

MAX_VARIABLES = 16
"""Largest number of variables; for more, the search takes longer than the checks."""


def maximise_at_once(
    topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
) -> AtOnce | None:
    """Write the best state into `z`, as specified by `ArgmaxSolver.maximise_at_once`."""
    n = len(unary)
    if n > MAX_VARIABLES:
        return None
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
    return score, score, True, {"states": 2**n}
