"""Solve supermodular problems as minimum cuts.

References:
    Kolmogorov, Zabih (2004), What energy functions can be minimized via graph cuts?
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..algorithms.max_flow.dense import dense_argmax
from ..algorithms.max_flow.one_instance import maximise_at_once
from ..algorithms.max_flow.one_word import MAX_NODES, one_word_argmax
from ..algorithms.max_flow.sparse import sparse_argmax
from ..algorithms.max_flow.supermodular_flips import after_flips, why_no_flips
from ..algorithms.precision.fixed_point import FixedPoint
from ..arrays import Scores, States
from ..limits.deadline import Deadline
from ..options import check_threads
from ..problems.problem import Problem
from ..problems.topology import Topology
from ..solution import AtOnce, Maximiser
from ..solver import ArgmaxSolver, Capabilities

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

    Attributes:
        threads: maximum number of threads; None for all cores.

    Raises:
        OptionError: `threads` is not positive.
    """

    threads: int | None = None

    name = "max_flow"
    capabilities = Capabilities(exact=True, supermodular_only=True)

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
        return after_flips(problem, partial(_minimum_cut, threads=self.threads))


def _minimum_cut(problem: Problem, threads: int | None) -> tuple[States, Scores]:
    """Return the maximisers `[batch, n]` of supermodular instances, and the bounds `[batch]`."""
    if problem.n <= MAX_NODES:
        return one_word_argmax(problem.unary, problem.pairwise, problem.topology, threads)
    scores = FixedPoint.of(problem)
    arrays = (scores.unary, scores.pairwise, scores.edges)
    argmax = sparse_argmax
    if _is_dense(problem):
        argmax = dense_argmax
    stop = np.zeros(1, np.uint8)
    try:
        z, doubled = argmax(*arrays, threads, stop)
    finally:
        # After an exception such as Ctrl-C, a thread may still run the kernel.
        stop.fill(1)
    # Halving is exact at the maximiser, since scores are integers.
    return z, scores.bound(doubled // 2)


def _is_dense(problem: Problem) -> bool:
    """Return whether a matrix of capacities is faster than lists of arcs.

    Both took equally long at these mean degrees, in random graphs and in bands about the diagonal:
        5
    with 63 nodes, 6 with 100, 7 and 13 with 200, 9 and 30 with 400, 12 and 50 with 1000, 55 and 110
    with 2000.
    """
    return problem.n <= LARGEST_MATRIX and 2 * problem.e >= (4 + problem.n / 40) * problem.n
