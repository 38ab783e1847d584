"""Try all states of small instances, from raw arrays to the answers in one call of a kernel.

The checks of a problem and of its answer take ten times as long as a search of 2^15 states. The
kernel does the same checks in the same order. Unusual cases, such as scores that are not finite, go
to the checks of `Problem` and `ArgmaxSolver`, which have messages for them.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import exhaustive as kernels
from ...compiled.threads import is_short
from ...problems.problem import LARGEST_MAGNITUDE
from ...problems.topology import Topology
from ...solution import AtOnce
from .host import nanoseconds_of
from .pairs import pairs_of

MAX_VARIABLES = 16
"""Largest number of variables; for more, the search takes longer than the checks."""


def maximise_at_once(
    topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
) -> AtOnce | None:
    """Write the best states into `z`, as specified by `ArgmaxSolver.maximise_at_once`."""
    if topology is None:
        return _of_matrix(unary, pairwise, z)
    n = topology.n
    if n > MAX_VARIABLES:
        return None
    pairs = topology.recall(pairs_of)
    # The argument is exhaustive: each score is its own bound.
    if z.ndim == 1:
        score = kernels.maximise_one(pairs, unary, pairwise, LARGEST_MAGNITUDE, z)
        if score is None:
            return None
        return score, score, True, {"states": 1 << n}
    batch = len(z)
    if not is_short(batch, nanoseconds_of(n)):
        return None
    scores = np.empty(batch)
    if not kernels.maximise_batch(pairs, unary, pairwise, LARGEST_MAGNITUDE, z, scores):
        return None
    proved = np.empty(batch, np.bool_)
    proved.fill(True)
    return scores, scores, proved, {"states": 1 << n}


def _of_matrix(unary: np.ndarray, matrix: np.ndarray, z: np.ndarray) -> AtOnce | None:
    """Write the best state of one instance with a matrix of pairwise scores."""
    score = kernels.maximise_matrix(unary, matrix, LARGEST_MAGNITUDE, z)
    if score is None:
        return None
    return score, score, True, {"states": 1 << len(unary)}
