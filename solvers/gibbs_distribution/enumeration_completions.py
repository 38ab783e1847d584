"""Draw samples and their completions variable by variable, by enumeration of all 2^n states.

A completion flips one variable of a sample and redraws the variables that come after it.

Variables are drawn from n - 1 down to 0. The states that agree with the drawn values are
consecutive in the order of sum_i z_i 2^i. They are a node of a binary tree over the blocks, or over
the states of one block, which has the sum of their weights.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Edges, States
from ..compiled._kernels import gibbs_distribution as kernels
from ..compiled.threads import over_slices
from ..limits.limited_sums import stop_of_sums
from .draws import DRAW_NANOSECONDS, LOAD_NANOSECONDS
from .enumeration import RunningSums


def complete(
    sums: RunningSums,
    n: int,
    edges: Edges,
    uniforms: np.ndarray,
    chosen: np.ndarray,
    threads: int | None = None,
) -> tuple[States, States, np.ndarray]:
    """Draw samples, their completions, and the conditional probabilities of the chosen variables.

    Samples are `[batch, samples, n]`, completions are `[batch, samples, m, n]`. The probabilities
    P(z_v = 1 | drawn before) are `[batch, samples, m]`.

    Args:
        sums: the running sums of the instances.
        n: number of variables.
        edges: `[e, 2]`, distinct pairs i < j.
        uniforms: `[batch, samples, n]` in [0, 1), one for each variable.
        chosen: `[batch, samples, m]`, the variables to complete.
        threads: maximum number of threads; None for all cores.
    """
    z = np.empty(uniforms.shape, np.int8)
    completed = np.empty((*chosen.shape, n), np.int8)
    instances = (sums.coefficients, sums.references, sums.weights)
    conditionals = np.empty(chosen.shape)
    arrays = (
        *instances,
        np.require(uniforms, np.float64, ["C", "W"]),
        chosen,
        z,
        completed,
        conditionals,
    )
    work = LOAD_NANOSECONDS + DRAW_NANOSECONDS * chosen[:1].size
    with stop_of_sums(1e-9 * work * len(z)) as stop:
        kernel = partial(kernels.complete, edges, n, stop)
        over_slices(kernel, *arrays, nanoseconds=work, threads=threads)
    return z, completed, conditionals
