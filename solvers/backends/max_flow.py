"""Solve supermodular problems as minimum cuts.

References:
    Kolmogorov, Zabih (2004), What energy functions can be minimized via graph cuts?
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..algorithms.local_search.warm_start import late_states
from ..algorithms.max_flow.dense import dense_argmax, dense_nanoseconds
from ..algorithms.max_flow.one_instance import maximise_at_once
from ..algorithms.max_flow.one_word import MAX_NODES, one_word_argmax
from ..algorithms.max_flow.sparse import sparse_argmax, sparse_nanoseconds
from ..algorithms.max_flow.supermodular_flips import after_flips, why_no_flips
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.roof_duality import halved
from ..arrays import Scores, States
from ..limits.deadline import Deadline
from ..options import check_threads
from ..problems.problem import Problem
from ..problems.topology import Topology
from ..solution import AtOnce, Maximiser
from ..solver import ArgmaxSolver, Capabilities

QUICK_SECONDS = 0.01
"""Estimated seconds of work that is always completed. Long paths can take a hundred times longer."""

LARGE = 2_000_000
"""Number of scores up to which a flow or a local search begins in about a tenth of a second.

Larger problems get a state without a search if the time limit ends their flow."""

ROUNDING_NANOSECONDS = 40
"""Approximate time per score of a large problem to write it in integers."""

GRAPH_NANOSECONDS = 110
"""Approximate time per score of a large instance to build the graph of its flow."""

LARGEST_MATRIX = 2048
"""Largest number of nodes for a matrix of capacities, which then takes 32 MiB per thread.

With 4096 nodes it was slower than lists of arcs."""


@dataclass(frozen=True)
class MaxFlow(ArgmaxSolver):
    """Exact solver of supermodular problems (pairwise scores >= 0, after bit flips if needed).

    Since w z_i z_j = (w/2)(z_i + z_j) - (w/2)|z_i - z_j|, a maximiser is a minimum cut between the
    ones and the zeros. Three kernels find it, instance by instance, in threads. `one_word` takes up
    to 62 variables, in float64. Larger problems go to `dense`, on a matrix of capacities, or to
    `sparse`, on lists of arcs. Both use integers (`FixedPoint`), so that flow and certificate are
    exact.

    If a time limit ends a cut of more than 62 variables, local search gives the state, and the flow
    so far gives the bound. Problems of millions of pairs get a state without a search, and so a
    bound if too little time is left for a flow.

    Attributes:
        threads: maximum number of threads; None for all cores.

    Raises:
        OptionError: `threads` is not positive.
    """

    threads: int | None = None

    name = "max_flow"
    capabilities = Capabilities(exact=True, supermodular_only=True, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """Return why the solver cannot take a problem: no bit flips make every pair score >= 0."""
        reasons = super().why_not(problem)
        if not reasons:
            return ()
        unbalanced = why_no_flips(problem)
        if not unbalanced:
            return ()
        return (*reasons, *unbalanced)

    def maximise_at_once(
        self, topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
    ) -> AtOnce | None:
        """Solve one instance of up to 62 variables whose pairwise scores are not negative."""
        return maximise_at_once(topology, unary, pairwise, z)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        cut = partial(_minimum_cut, deadline=deadline, threads=self.threads)
        return after_flips(problem, cut)

    def _takes_long(self, work: Problem) -> bool:
        return not _is_quick(work)


def _minimum_cut(
    problem: Problem, deadline: Deadline, threads: int | None
) -> tuple[States, Scores]:
    """Return the maximisers `[batch, n]` of supermodular instances, and the bounds `[batch]`.

    After the deadline, the states of some instances are those of local search, or of `halved` in
    large problems.
    """
    if problem.n <= MAX_NODES:
        return one_word_argmax(problem.unary, problem.pairwise, problem.topology, threads)
    if _is_large(problem) and _seconds_before_flow(problem) > deadline.left:
        return halved(problem)
    scores = FixedPoint.of(problem)
    arrays = (scores.unary, scores.pairwise, scores.edges)
    argmax = sparse_argmax
    if _is_dense(problem):
        argmax = dense_argmax
    with _stop_flag(problem, deadline) as stop:
        try:
            z, doubled = argmax(*arrays, threads, stop)
            ended = bool(stop[0])
        finally:
            # After an exception such as Ctrl-C, a thread may still run the kernel.
            stop.fill(1)
    if ended:
        if _is_large(problem):
            late = halved(problem)[0]
        else:
            late = late_states(problem, threads)
        gains = problem.score_flat(late) > problem.score_flat(z)
        z = np.where(gains[:, None], late, z)
    # Halving is exact at the maximiser, since scores are integers.
    return z, scores.bound(doubled // 2)


def _is_large(problem: Problem) -> bool:
    """Return whether the arrays of a flow or of a local search take long to build."""
    return problem.batch * (problem.n + problem.e) > LARGE


def _seconds_before_flow(problem: Problem) -> float:
    """Return the approximate time of rounding all instances, and of building the first graph."""
    scores = problem.n + problem.e
    return 1e-9 * scores * (ROUNDING_NANOSECONDS * problem.batch + GRAPH_NANOSECONDS)


def _stop_flag(problem: Problem, deadline: Deadline) -> AbstractContextManager[np.ndarray]:
    """Return a context that gives the stop flag of a cut; a quick cut is not watched."""
    if _is_quick(problem):
        return Deadline.after(None).flag(0.0)
    return deadline.flag()


def _is_quick(problem: Problem) -> bool:
    """Return whether the cuts end before a time limit or a signal could matter."""
    if problem.n <= MAX_NODES:
        return True
    nanoseconds = sparse_nanoseconds(problem.n, problem.e)
    if _is_dense(problem):
        nanoseconds = dense_nanoseconds(problem.n)
    return 1e-9 * nanoseconds * problem.batch <= QUICK_SECONDS


def _is_dense(problem: Problem) -> bool:
    """Return whether a matrix of capacities is faster than lists of arcs.

    Both took equally long at these mean degrees, in random graphs and in bands about the diagonal:
        5
    with 63 nodes, 6 with 100, 7 and 13 with 200, 9 and 30 with 400, 12 and 50 with 1000, 55 and 110
    with 2000.
    """
    return problem.n <= LARGEST_MATRIX and 2 * problem.e >= (4 + problem.n / 40) * problem.n
