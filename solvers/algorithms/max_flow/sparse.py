"""Find maximum flows on sparse graphs of any size, in integers, on lists of arcs.

Balances and residuals are those of `one_word`. Much excess lies next to a deficit and flows there
at once, in batches by vector lanes (lane_pushes.hpp); two search trees (trees.hpp) carry the rest
as long as the paths are short. Long paths would take the trees too long: then rounds like those of
`one_word` finish, each of which looks at the whole graph but moves everything.

References:
    Dinitz (1970), Algorithm for solution of a problem of maximum flow in networks with power
    estimation.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Edges, States
from ...compiled._kernels import max_flow as kernels
from .batch import cut_batch

if TYPE_CHECKING:
    from jaxtyping import Int


def sparse_argmax(
    unary: Int[np.ndarray, "batch n"],
    pairwise: Int[np.ndarray, "batch e"],
    edges: Edges,
    threads: int | None = None,
    stop: np.ndarray | None = None,
) -> tuple[States, Int[np.ndarray, "batch"]]:
    """Return the result of `cut_batch` for sparse graphs with distinct `edges [e, 2]`, i < j.

    Another thread may set `stop [1]`, uint8, to end the flow early. The states may then not be
    maximisers, and the numbers are upper bounds on twice the maxima.
    """
    if stop is None:
        stop = np.zeros(1, np.uint8)
    kernel = partial(kernels.sparse, np.ascontiguousarray(edges), stop)
    work = sparse_nanoseconds(unary.shape[1], len(edges))
    return cut_batch(kernel, unary, pairwise, work, threads)


def sparse_nanoseconds(n: int, e: int) -> float:
    """Return the approximate time per instance: within a factor of 3 on grids and random graphs."""
    return 1000 + 50 * n + 100 * e
