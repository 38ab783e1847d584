"""A product of one distribution a variable near p(x) = exp(score(x)) / Z: a lower bound on log Z.

For every q(x) = prod_i q_i(x_i) the mean of score under q, and the entropy of q, are together at most log Z (Jensen).
A visit to variable i makes q_i(a) proportional to exp of the mean score of a, the best that q_i can be with the others
as they are, so the bound rises with every visit, to a local optimum.

References:
    Wainwright, Jordan (2008), Graphical models, exponential families, and variational inference, section 5.
"""

from __future__ import annotations

import numpy as np

from ...compiled import jit
from .tree_messages import log_sum, score


@jit.strict
def raise_bound(tree, unary, q, scratch):
    """One visit to every variable; returns by how much a probability changed at most.

    Args:
        tree: of the instance.
        unary: `[n, k]`.
        q: `[n, k]`, allowed together: no pair of values that have probability is forbidden.
        scratch: `[k]`.
    """
    moved = 0.0
    for i in range(len(q)):
        for a in range(tree.sizes[i]):
            scratch[a] = unary[i, a]
        for at in range(tree.starts[i], tree.starts[i + 1]):
            j, e, side = tree.near[at], tree.edge[at], tree.side[at]
            for b in range(tree.sizes[j]):
                if q[j, b] > 0.0:
                    for a in range(tree.sizes[i]):
                        scratch[a] += q[j, b] * score(tree, e, side, a, b)
        whole = log_sum(scratch, tree.sizes[i])
        for a in range(tree.sizes[i]):
            new = np.exp(scratch[a] - whole)
            moved = max(moved, abs(new - q[i, a]))
            q[i, a] = new
    return moved


@jit.strict
def mean_and_entropy(tree, unary, q):
    """The mean score under q `[n, k]`, plus the entropy of q."""
    total = 0.0
    for i in range(len(q)):
        for a in range(tree.sizes[i]):
            if q[i, a] > 0.0:
                total += q[i, a] * (unary[i, a] - np.log(q[i, a]))
        for at in range(tree.starts[i], tree.starts[i + 1]):
            if tree.side[at] == 0:
                j, e = tree.near[at], tree.edge[at]
                for a in range(tree.sizes[i]):
                    for b in range(tree.sizes[j]):
                        if q[i, a] * q[j, b] > 0.0:
                            total += q[i, a] * q[j, b] * score(tree, e, 0, a, b)
    return total
