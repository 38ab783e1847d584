"""Tabu search: good answers fast, with no proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import Scores, as_float64, namespace_of
from .problem import Problem
from .roof_duality import roof_duality
from .solver import ArgmaxSolver, Capabilities, Maximiser


@dataclass(frozen=True)
class LocalSearch(ArgmaxSolver):
    """Multi-start one-flip tabu search with path relinking, on the host or on the device of the arrays.

    Never says `optimal`. With a time limit it searches until the time is used up; without one it makes
    `starts` runs an instance, and the answer depends on the seed alone.

    Attributes:
        starts: tabu runs an instance.
        seed: of the random numbers.
    """

    starts: int = 4
    seed: int = 0

    name = "local_search"
    capabilities = Capabilities(exact=False, on_device=True, time_limit=True)

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        if not isinstance(problem.unary, np.ndarray):
            from .device_tabu import device_tabu

            z = device_tabu(problem, self.starts, self.seed, time_limit=time_limit)
            return Maximiser(z, _positive_part(problem))
        from .tabu_search import tabu_search  # numba takes a while to import

        arrays = (problem.unary, problem.pairwise, problem.edges)
        z = tabu_search(*arrays, starts=self.starts, seed=self.seed, time_limit=time_limit)
        return Maximiser(z, roof_duality(problem).bound)


def _positive_part(problem: Problem) -> Scores:
    """`[batch]`: the sum of the positive coefficients, the least that bounds every score."""
    xp = namespace_of(problem.unary)
    parts = [xp.where(a > 0, a, a * 0) for a in map(as_float64, (problem.unary, problem.pairwise))]
    return xp.sum(parts[0], axis=-1) + xp.sum(parts[1], axis=-1)
