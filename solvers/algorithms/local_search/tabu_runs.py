"""Local optima of single flips, for problems too dense to move many variables at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...limits.deadline import Deadline
from ...problem import Problem
from .tabu import tabu_search


@dataclass(frozen=True, eq=False)
class TabuRuns:
    """Short tabu runs of one problem.

    Attributes:
        problem: a single instance on the host.
        generator: of their seeds.
    """

    problem: Problem
    generator: np.random.Generator

    def improved(self, z: np.ndarray, deadline: Deadline) -> np.ndarray:
        """`[n]`: the better of `z` and of what a run finds."""
        states = np.stack([z, self.optimum(deadline)])
        scores = [float(self.problem.score_flat(state[None])[0]) for state in states]
        return np.asarray(states[np.argmax(scores)])

    def optimum(self, deadline: Deadline) -> np.ndarray:
        """`[n]`: what a run finds from a random state until the deadline."""
        arrays = (self.problem.unary, self.problem.pairwise, self.problem.topology.pairs)
        seed = int(self.generator.integers(2**62))
        return np.asarray(
            tabu_search(*arrays, starts=1, seed=seed, deadline=deadline, threads=1, once=True)[0]
        )
