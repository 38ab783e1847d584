"""Maximum flow on sparse graphs of any size, in integers, on lists of arcs.

Balances and residuals are those of `one_word`. Much excess lies beside a deficit and goes there at
once; two search trees (trees.hpp) carry the rest while it has not far to go. Where it has, they
take long: then rounds like those of `one_word` finish, each of which looks at the whole graph but
moves everything.

References:
    Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power
    estimation.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from jaxtyping import Int

from ...arrays import Edges, States
from ...compiled._kernels import max_flow as kernels
from .batch import cut_batch


def sparse_argmax(
    unary: Int[np.ndarray, "batch n"],
    pairwise: Int[np.ndarray, "batch e"],
    edges: Edges,
    threads: int | None = None,
    stop: np.ndarray | None = None,
) -> tuple[States, Int[np.ndarray, "batch"]]:
    """As `cut_batch`, for graphs with distinct `edges [e, 2]`, i < j.

    A flow that is cut short by `stop [1]`, uint8, which another thread sets, proves less: states
    that may be no maximisers, and numbers that are upper bounds on twice the maxima.
    """
    stop = np.zeros(1, np.uint8) if stop is None else stop
    kernel = partial(kernels.sparse, np.ascontiguousarray(edges), stop)
    # Within a factor of 3 on grids and random graphs.
    return cut_batch(
        kernel, unary, pairwise, 1000 + 50 * unary.shape[1] + 100 * len(edges), threads
    )
