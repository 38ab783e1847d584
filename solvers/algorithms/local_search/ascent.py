"""States in which no single flip gains."""

from __future__ import annotations

import numpy as np

from ...arrays import States
from ...compiled import jit
from ...compiled.graphs import neighbour_lists
from ...problem import Problem


def ascend(problem: Problem, z: States) -> States:
    """`[batch, n]`: `z` after flips, one variable after the other, until none gains; host problems only."""
    z = np.array(z, np.int8)
    unary, pairwise = (np.asarray(scores, np.float64) for scores in (problem.unary, problem.pairwise))
    _flip_what_gains(unary, pairwise, neighbour_lists(problem.n, problem.topology.pairs), z)
    return z


@jit.strict
def _flip_what_gains(unary, pairwise, lists, z):
    """Changes z `[batch, n]`; what rounding would flip for ever ends after n rounds."""
    starts, near, edge = lists
    batch, n = z.shape
    for b in range(batch):
        for _ in range(n):
            flips = 0
            for i in range(n):
                field = unary[b, i]
                for k in range(starts[i], starts[i + 1]):
                    if z[b, near[k]]:
                        field += pairwise[b, edge[k]]
                if (field < 0.0) if z[b, i] else (field > 0.0):
                    z[b, i] ^= 1
                    flips += 1
            if flips == 0:
                break
