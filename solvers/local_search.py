"""Tabu search: good answers fast, with no proof."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .errors import OptionError
from .problem import Problem
from .roof_duality import roof_duality
from .solver import ArgmaxSolver, Capabilities, Maximiser
from .threads import check_threads


@dataclass(frozen=True)
class LocalSearch(ArgmaxSolver):
    """Multi-start one-flip tabu search with path relinking, on the host or on the device of the arrays.

    Never says `optimal`. With a time limit it searches until the time is used up; without one it makes
    `starts` runs an instance, and the answer depends on the seed alone.

    Attributes:
        starts: tabu runs an instance.
        seed: of the random numbers.
        threads: most threads to use on the host; None for all cores.
    """

    starts: int = 4
    seed: int = 0
    threads: int | None = None

    name = "local_search"
    capabilities = Capabilities(exact=False, on_device=True, time_limit=True)

    def __post_init__(self) -> None:
        check_threads(self.threads)
        if self.starts < 1 or self.seed < 0:
            raise OptionError(
                f"starts must be at least 1 and seed at least 0; got {self.starts}, {self.seed}"
            )

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        if not isinstance(problem.unary, np.ndarray):
            from .device_tabu import device_tabu

            z = device_tabu(problem, self.starts, self.seed, time_limit=time_limit)
            return Maximiser(z, problem.positive_part)
        from .tabu_search import tabu_search  # numba takes a while to import

        arrays = (problem.unary, problem.pairwise, problem.edges)
        z = tabu_search(
            *arrays, starts=self.starts, seed=self.seed, time_limit=time_limit, threads=self.threads
        )
        return Maximiser(z, roof_duality(problem).bound)
