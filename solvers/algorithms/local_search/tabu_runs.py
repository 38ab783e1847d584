"""Search for local optima of single flips, where problems are too dense for larger moves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...limits.deadline import Deadline
from ...problems.problem import Problem
from .tabu import TabuSearch


@dataclass(frozen=True, eq=False)
class TabuRuns:
    """Short tabu searches of one problem.

    Attributes:
        problem: a single instance on the host.
        generator: generator of their seeds.
    """

    problem: Problem
    generator: np.random.Generator

    def improved(self, z: np.ndarray, deadline: Deadline) -> np.ndarray:
        """Return the better of `z [n]` and of the result of a run."""
        states = np.stack([z, self.optimum(deadline)])
        scores = [float(self.problem.score_flat(state[None])[0]) for state in states]
        return np.asarray(states[np.argmax(scores)])

    def optimum(self, deadline: Deadline) -> np.ndarray:
        """Return the result `[n]` of a run from a random state until the deadline."""
        arrays = (self.problem.unary, self.problem.pairwise, self.problem.topology.pairs)
        seed = int(self.generator.integers(2**62))
        states = TabuSearch(*arrays, seed=seed, threads=1).run(1, deadline)
        return np.asarray(states[0])
