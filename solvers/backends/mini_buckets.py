"""Solve sparse problems whose treewidth is somewhat too high for elimination."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..algorithms.elimination.order import min_fill_order
from ..algorithms.local_search.warm_start import first_state
from ..algorithms.mini_buckets.plan import mini_bucket_layout
from ..algorithms.mini_buckets.search import Search
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.one_by_one import one_by_one
from ..compiled.threads import available_cores
from ..limits.deadline import Deadline
from ..options import check_threads
from ..problems.problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

SEARCHES = ((10, 100_000), (16, 6_000_000), (20, None))
"""(widest tables, nodes before the next search).

Each width has tables 2^4 to 2^6 times larger than the one before, and far better bounds."""

MAX_ENTRIES = 1 << 25
"""Maximum number of entries of all tables: 256 MiB.

If wider tables would exceed it, the search continues with the narrower ones."""

NODES_A_CALL = 100_000
"""Number of nodes between two checks of the time: 10 ms."""

NANOSECONDS = 5
"""Maximum time to find an elimination order, approximately, per n^3."""


@dataclass(frozen=True)
class MiniBuckets(ArgmaxSolver):
    """Exact solver of sparse problems, quick if the treewidth is at most about 26.

    Elimination splits tables that would be too wide, and the split tables bound a depth-first
    search. If no table had to be split, the search finds the maximiser in its first descent.
    Instances of a batch share the cores.

    Attributes:
        threads: number of instances at once; None for all cores.

    References:
        Kask, Dechter (2001), A general scheme for automatic generation of search heuristics from
        specification dependencies.
        Ihler, Flerova, Dechter, Otten (2012), Join-graph based cost-shifting schemes.
    """

    threads: int | None = None

    name = "mini_buckets"
    capabilities = Capabilities(exact=True, max_size=2000, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        return one_by_one(problem, deadline, _solve, self.threads or available_cores())


def _solve(problem: Problem, deadline: Deadline, _: np.ndarray | None) -> tuple[np.ndarray, float]:
    z = first_state(problem, None, deadline)
    with deadline.flag(1e-9 * NANOSECONDS * problem.n**3) as stop:
        order = min_fill_order(problem.n, problem.edges, stop)
    if order is None:
        return z, math.inf
    scores = FixedPoint.of(problem)
    search: Search | None = None
    for width, nodes in SEARCHES:
        layout = mini_bucket_layout(problem.n, problem.edges, order, width, deadline)
        if layout is None:
            break
        if layout.tables[-1] > MAX_ENTRIES and search is not None:
            search.run(None, deadline, NODES_A_CALL)
            break
        # Every search continues from the state and the bound of the narrower one before.
        state = z
        proved = None
        if search is not None:
            state = search.z
            proved = search.bound
        wider = Search(layout, scores, state, deadline, proved)
        if wider.cut_short:
            break
        search = wider
        search.run(nodes, deadline, NODES_A_CALL)
        if search.finished or deadline.passed:
            break
    if search is None:
        return z, math.inf
    return search.z, float(scores.bound(np.array([search.bound]))[0])
