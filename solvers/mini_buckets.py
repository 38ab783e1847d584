"""Sparse problems whose treewidth is somewhat too high for elimination."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .fixed_point import FixedPoint
from .one_by_one import one_by_one
from .problem import Problem
from .solver import ArgmaxSolver, Capabilities, Maximiser
from .threads import available_cores

WIDTHS = (10, 14, 18, 20)
"""Limits of the tables, tried one after the other: each has tables 16 times larger and far better bounds."""

NODES = (100_000, 2_000_000, 20_000_000)
"""Of the search before the next width is tried: about as long as its tables take."""

NODES_A_CALL = 100_000
"""10 ms: how finely the time limit is kept."""


@dataclass(frozen=True)
class MiniBuckets(ArgmaxSolver):
    """Exact for sparse problems of any signs, treewidths to about 40: elimination with tables that are split
    where they would be too wide, and a depth-first search for which the split tables are the bound.

    Where the width is at most 10 after roof duality this is elimination. Instances of a batch share the cores.

    Attributes:
        threads: instances at once; None for all cores.

    References:
        Kask and Dechter (2001), A general scheme for automatic generation of search heuristics from
        specification dependencies.
        Ihler, Flerova, Dechter, Otten (2012), Join-graph based cost-shifting schemes.
    """

    threads: int | None = None

    name = "mini_buckets"
    capabilities = Capabilities(exact=True, max_size=10_000, time_limit=True)

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        return one_by_one(problem, time_limit, _solve, self.threads or available_cores())


def _solve(problem: Problem, left: float | None) -> tuple[np.ndarray, float]:
    from .elimination_order import greedy_order  # numba takes a while to import
    from .mini_bucket_plan import mini_bucket_layout
    from .tabu_search import tabu_search

    end = np.inf if left is None else time.monotonic() + left
    scores = FixedPoint.of(problem)
    z = tabu_search(problem.unary, problem.pairwise, problem.edges, threads=1)[0]
    bound = np.iinfo(np.int64).max
    order = greedy_order(problem.n, problem.edges)
    for width, nodes in zip(WIDTHS, (*NODES, None), strict=True):
        layout, split = mini_bucket_layout(problem.n, problem.edges, width, order)
        z, proved, finished = _search(layout, scores, z, None if not split else nodes, end)
        bound = min(bound, proved)
        if finished or time.monotonic() >= end:
            break
    return z, float(scores.bound(np.array([bound]))[0])


def _search(layout, scores, z, nodes, end):  # type: ignore[no-untyped-def]
    """The best assignment, a bound, and whether the search was completed."""
    from .mini_bucket_search import fill_tables, search

    n = len(z)
    table = np.empty(layout.tables[-1], np.int64)
    bound, later, tried = np.empty(n + 1, np.int64), np.empty(n, np.int64), np.zeros(n, np.int8)
    bound[0] = fill_tables(layout, scores.unary[0], scores.pairwise[0], table)
    best, best_state = scores.score(z[None]).astype(np.int64), z.astype(np.int8)
    state, depth, handled = best_state.copy(), 0, 0
    while depth >= 0 and time.monotonic() < end and (nodes is None or handled < nodes):
        depth, _ = search(layout, table, state, bound, later, tried, depth, best, best_state, NODES_A_CALL)
        handled += NODES_A_CALL
    finished = depth < 0
    return best_state, int(best[0]) if finished else int(bound[0]), finished
