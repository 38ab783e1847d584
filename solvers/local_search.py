"""Tabu search: good answers fast, with no proof."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from .arrays import States
from .errors import OptionError
from .problem import Problem
from .roof_duality import roof_duality
from .solver import ArgmaxSolver, Capabilities, Maximiser
from .threads import check_threads

BLOCKS_FROM, BLOCKS_DEGREE = 200, 6
"""Least n and greatest mean degree where blocks find in seconds what single flips do not find, as on tori."""

TABU_SHARE = 0.1


@dataclass(frozen=True)
class LocalSearch(ArgmaxSolver):
    """Multi-start one-flip tabu search with path relinking, on the host or on the device of the arrays.

    Large sparse problems go on with moves of whole blocks (`block_moves`) after a tenth of the time limit.
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
        begin = time.monotonic()
        blocks = (
            time_limit is not None and problem.n >= BLOCKS_FROM and 2 * problem.e <= BLOCKS_DEGREE * problem.n
        )
        first = TABU_SHARE * time_limit if time_limit is not None and blocks else time_limit
        z = tabu_search(*arrays, starts=self.starts, seed=self.seed, time_limit=first, threads=self.threads)
        if time_limit is not None and blocks:
            z = self._in_blocks(problem, z, begin + time_limit)
        return Maximiser(z, roof_duality(problem).bound)

    def _in_blocks(self, problem: Problem, z: States, end: float) -> States:
        """`z [batch, n]` after block moves, which share the time that is left."""
        from .block_moves import block_moves

        found = z.copy()
        for instance in range(problem.batch):
            now = time.monotonic()
            one = slice(instance, instance + 1)
            single = Problem.from_arrays(problem.unary[one], problem.pairwise[one], edges=problem.edges)
            share = (end - now) / (problem.batch - instance)
            generator = np.random.default_rng([self.seed, instance])
            found[instance] = block_moves(single, z[instance], generator, now + share)
        return found
