"""How wide the best elimination order is that the heuristics find, remembered for each topology."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ...problem import Problem
from .order import width_of


def treewidth_bound(problem: Problem, give_up_above: int) -> int | None:
    """An upper bound on the treewidth of the problem's graph; None where none up to the limit is found."""
    return _treewidth_bound(problem.n, problem.edges.tobytes(), give_up_above)


@lru_cache(maxsize=64)
def _treewidth_bound(n: int, edges: bytes, give_up_above: int) -> int | None:
    return width_of(n, np.frombuffer(edges, np.int64).reshape(-1, 2), give_up_above)
