"""Eliminate one small instance, from raw arrays to the answer in one call of a kernel.

The checks of a problem and of its answer take ten times as long as a chain of 40 variables. The
kernel does the same checks in the same order. Unusual cases, such as scores that are not finite, go
to the checks of `Problem` and `ArgmaxSolver`, which have messages for them.
"""

from __future__ import annotations

import numpy as np

from ...compiled._kernels import elimination as kernels
from ...problems.problem import LARGEST_MAGNITUDE
from ...problems.topology import Topology
from ...solution import AtOnce
from .plan import cached_plan

MOST_ENTRIES = 1 << 14
"""Largest number of table entries; for more, the search takes longer than the checks."""


def maximise_at_once(
    topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
) -> AtOnce | None:
    """Write the best state into `z`, as specified by `ArgmaxSolver.maximise_at_once`.

    It only answers for a graph that was eliminated before, since planning takes longer than the
    checks, and may end at a limit of time or memory.
    """
    if topology is None or z.ndim > 1:
        return None
    plan = topology.recalled(cached_plan)
    if plan is None or plan.entries > MOST_ENTRIES:
        return None
    score = kernels.maximise_pairs(
        plan.schedule, topology.pairs, unary, pairwise, LARGEST_MAGNITUDE, z
    )
    if score is None:
        return None
    return score, score, True, {"width": plan.width, "entries": plan.entries}
