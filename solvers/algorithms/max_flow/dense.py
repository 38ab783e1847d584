"""Find maximum flows on dense graphs, in integers, on a matrix of residual capacities.

The algorithm, and the identity behind it, are those of `one_word`. Here the residual arcs of a node
are the bits of several words, and the coefficients are integers, so that flow and certificate are
exact.

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


def dense_argmax(
    unary: Int[np.ndarray, "batch n"],
    pairwise: Int[np.ndarray, "batch e"],
    edges: Edges,
    threads: int | None = None,
    stop: np.ndarray | None = None,
) -> tuple[States, Int[np.ndarray, "batch"]]:
    """Return the result of `cut_batch` for dense graphs with distinct `edges [e, 2]`, i < j.

    Another thread may set `stop [1]`, uint8, to end the flow early. The states may then not be
    maximisers, and the numbers are upper bounds on twice the maxima.
    """
    if stop is None:
        stop = np.zeros(1, np.uint8)
    kernel = partial(kernels.dense, edges.astype(np.uint32), stop)
    return cut_batch(kernel, unary, pairwise, dense_nanoseconds(unary.shape[1]), threads)


def dense_nanoseconds(n: int) -> float:
    """Return the approximate time per instance.

    It is two or three times what dense graphs of 63 to 300 nodes took, about that of sparser ones.
    """
    return 1000 + 4 * n**2
