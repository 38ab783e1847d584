"""Differentiate marginals along a direction, and conditionals of samples, over all 2^n states.

The derivative of the marginals is Cov(phi, phi . direction), with phi the z_i and the z_i z_j of
the edges: the mean of phi times the excess of phi . direction over its mean. The derivative of
P(z_v = 1 | drawn before) is a difference of two means of phi. They are taken over the runs of
states (`enumeration_completions`) with z_v = 1 and with z_v = 0. All are sums of phi times the
weight and a factor of the state, so one pass over all weights gives their sum.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ..arrays import Edges, Scores
from ..compiled._kernels import gibbs_distribution as kernels
from ..compiled.threads import over_slices
from ..limits.limited_sums import stop_of_sums
from .enumeration import NANOSECONDS, RunningSums
from .samples import Drawn

SAMPLE_NANOSECONDS = 500.0
"""Work for the weights and the runs of a sample's block."""


def derivative(
    sums: RunningSums,
    edges: Edges,
    drawn: Drawn,
    direction: np.ndarray,
    means: Scores,
    threads: int | None = None,
) -> np.ndarray:
    """Return the gradient `[batch, n + e]` of direction . marginals plus weighted conditionals.

    The second summand is that of changes * P(z_v = 1 | drawn before) over the samples.

    Args:
        sums: the running sums of the instances.
        edges: `[e, 2]`, distinct pairs i < j.
        drawn: samples, and the changes of their variables, which are at most 1.
        direction: `[batch, n + e]`, at most 1 in absolute value, so that nothing overflows.
        means: `[batch]`, direction . marginals.
        threads: maximum number of threads; None for all cores.
    """
    n = drawn.z.shape[-1]
    products = np.empty_like(sums.coefficients)
    totals = np.ascontiguousarray(sums.blocks[:, -1])
    of_instances = (sums.coefficients, sums.references, sums.weights, totals, drawn.z, drawn.chosen)
    arrays = (
        *of_instances,
        drawn.changes,
        np.require(direction, np.float64, ["C", "W"]),
        means,
        products,
    )
    work = 1.5 * NANOSECONDS * (2**n + 2**12) + SAMPLE_NANOSECONDS * drawn.chosen.shape[1]
    with stop_of_sums(1e-9 * work * len(products)) as stop:
        kernel = partial(kernels.derive, edges, n, stop)
        over_slices(kernel, *arrays, nanoseconds=work, threads=threads)
    return products
