"""Ascend to states in which no single flip gains."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...compiled._kernels import local_search as kernels
from ...compiled.plain import plain
from ...problems.problem import Problem


def ascend(problem: Problem, z: States) -> States:
    """Flip variable after variable of `z [batch, n]` until no flip gains; host problems only."""
    z = np.array(z, np.int8, order="C")
    unary = np.ascontiguousarray(problem.unary, np.float64)
    pairwise = np.ascontiguousarray(problem.pairwise, np.float64)
    kernels.flip_what_gains(plain(problem.topology.pairs), unary, pairwise, z)
    return z
