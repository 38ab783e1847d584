"""Complete samples at small treewidth: flip one variable, and redraw the later ones.

Steps are drawn from the last to the first, each given its separator. So P(z_v = 1 | drawn before)
is one entry of the shares of its step. Its derivative in the scores flows from there to the
messages from which the entry was computed, as probabilities do in `sum_product`.
"""

from __future__ import annotations

import numpy as np

from ..algorithms.elimination.plan import Plan
from ..arrays import Pairwise, States, Unary
from ..compiled._kernels import gibbs_distribution as kernels
from .samples import Drawn
from .sum_product import over_lanes


def complete(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    uniforms: np.ndarray,
    chosen: np.ndarray,
    threads: int | None = None,
) -> tuple[States, States, np.ndarray]:
    """Draw samples, their completions, and the conditional probabilities of the chosen variables.

    Samples are `[batch, samples, n]`, completions are `[batch, samples, m, n]`. The probabilities
    P(z_v = 1 | drawn before) are `[batch, samples, m]`.

    Args:
        plan: the plan of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        uniforms: `[batch, samples, n]` in [0, 1), one for each variable.
        chosen: `[batch, samples, m]`, the variables to complete.
        threads: maximum number of threads; None for all cores.
    """
    scores = (np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise, uniforms))
    z = np.empty(uniforms.shape, np.int8)
    completed = np.empty((*chosen.shape, plan.n), np.int8)
    conditionals = np.empty(chosen.shape)
    arrays = (*scores, chosen, z, completed, conditionals)
    over_lanes(kernels.complete_by_elimination, plan, arrays, threads, draws=completed[0].size)
    return z, completed, conditionals


def derivative(
    plan: Plan,
    unary: Unary,
    pairwise: Pairwise,
    drawn: Drawn,
    threads: int | None = None,
) -> np.ndarray:
    """Return the gradient `[batch, n + e]` of the weighted sum of conditionals.

    The sum is that of changes * P(z_v = 1 | drawn before) over samples and chosen variables v.

    Args:
        plan: the plan of these edges.
        unary: `[batch, n]`, finite.
        pairwise: `[batch, e]`, finite, in the order of the plan's edges.
        drawn: samples, and the changes of their variables.
        threads: maximum number of threads; None for all cores.
    """
    scores = (np.require(array, np.float64, ["C", "W"]) for array in (unary, pairwise))
    ones = np.empty((len(unary), plan.n))
    pairs = np.empty((len(unary), plan.edges))
    arrays = (*scores, *drawn, ones, pairs)
    over_lanes(kernels.derive_by_elimination, plan, arrays, threads, draws=drawn.chosen[:1].size)
    return np.concatenate((ones, pairs), axis=1)
