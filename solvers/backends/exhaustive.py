"""Solve small problems by trying every one of the 2^n states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algorithms.exhaustive.at_once import maximise_at_once
from ..algorithms.exhaustive.best_states import best_states
from ..algorithms.exhaustive.device import device_argmax
from ..algorithms.exhaustive.feasible import best_feasible
from ..algorithms.exhaustive.host import host_argmax
from ..algorithms.exhaustive.pairs import MAX_VARIABLES
from ..algorithms.presolve.ranked import first_ranked
from ..constraint_rows import Rows
from ..errors import InfeasibleError
from ..limits.deadline import Deadline
from ..options import check_threads, check_whole
from ..problems.problem import Problem
from ..problems.topology import Topology
from ..solution import AtOnce, Maximiser, Ranking
from ..solver import ArgmaxSolver, Capabilities


@dataclass(frozen=True)
class Exhaustive(ArgmaxSolver):
    """Exact solver of any pairwise problem of up to 25 variables, by enumeration.

    On the host it runs a compiled kernel on integers. On a device it runs one matrix product for
    each chunk of the batch.

    Attributes:
        memory: bytes that the table of a chunk may take on a device; one instance needs 8 * 2^n.
        threads: maximum number of threads on the host; None for all cores.
    """

    memory: int = 2**28
    threads: int | None = None

    name = "exhaustive"
    capabilities = Capabilities(
        exact=True, max_size=MAX_VARIABLES, on_device=True, constraints=2**54
    )

    def __post_init__(self) -> None:
        check_threads(self.threads)
        check_whole("memory", self.memory, 1, 2**62)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        stats = {"states": 2**problem.n}
        if not isinstance(problem.unary, np.ndarray):
            return Maximiser(device_argmax(problem, self.memory), stats=stats)
        z = host_argmax(problem.unary, problem.pairwise, problem.topology, self.threads)
        return Maximiser(z, stats=stats)

    def maximise_at_once(
        self, topology: Topology | None, unary: np.ndarray, pairwise: np.ndarray, z: np.ndarray
    ) -> AtOnce | None:
        """Solve instances of up to 16 variables."""
        return maximise_at_once(topology, unary, pairwise, z)

    def _argmax_within(self, problem: Problem, constraints: Rows, deadline: Deadline) -> Maximiser:
        z = best_feasible(problem, constraints.satisfied)
        if not z.shape[1]:
            raise InfeasibleError(constraints.names)
        return Maximiser(z[:, 0], stats={"states": 2**problem.n})

    def best_states(self, problem: Problem, count: int, deadline: Deadline) -> Ranking:
        """Return the `count` states of highest score."""
        states, reached = best_states(problem, count, self.threads, deadline)
        return first_ranked(problem, states, reached)

    def best_states_within(self, problem: Problem, constraints: Rows, count: int) -> Ranking:
        """Return the `count` states of highest score that satisfy the constraints."""
        return Ranking(best_feasible(problem, constraints.satisfied, count))
