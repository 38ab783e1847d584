"""Draw samples of p(z) ~ exp(score(z)) over all 2^n states, from running sums of weights.

An earlier pass has left these sums. A uniform number chooses a block of states by the running sums
of all blocks. Only that block is rebuilt, to choose a line of it, and then a state in the line.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Edges
from ..compiled._kernels import gibbs_distribution as kernels
from ..compiled.threads import over_slices
from ..limits.limited_sums import stop_of_sums
from .enumeration import RunningSums

LOAD_NANOSECONDS = 500.0  # per instance
DRAW_NANOSECONDS = 200.0  # per sample


def draw(
    sums: RunningSums, n: int, edges: Edges, uniforms: np.ndarray, threads: int | None = None
) -> np.ndarray:
    """Return samples `[batch, samples, n]`, int8.

    Args:
        sums: the running sums of the instances.
        n: number of variables.
        edges: `[e, 2]`, distinct pairs i < j.
        uniforms: `[batch, samples]` in [0, 1).
        threads: maximum number of threads; None for all cores.
    """
    z = np.empty((*uniforms.shape, n), np.int8)
    instances = (sums.coefficients, sums.references, sums.blocks)
    arrays = (*instances, np.require(uniforms, np.float64, ["C", "W"]), z)
    work = LOAD_NANOSECONDS + DRAW_NANOSECONDS * uniforms.shape[1]
    if not uniforms.size:  # without samples, no instance is loaded
        return z
    with stop_of_sums(1e-9 * work * len(z)) as stop:
        kernel = partial(kernels.draw, edges, n, stop)
        over_slices(kernel, *arrays, nanoseconds=work, threads=threads)
    return z
