"""Every kernel compiled now, so that no later solve waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np

from .gibbs_distribution.distribution import gibbs, uniforms_shape
from .instances import dense, grid, spin_glass
from .problem import Problem
from .registry import BUILT_IN, solver_class

SECONDS = 0.05
"""Of each search, once its kernels are compiled."""


def warmup() -> dict[str, float]:
    """Compiles the kernels of all installed backends and of `gibbs`, and keeps them on disk.

    Numba compiles for the processor that it runs on, so kernels cannot come with the installation. Once compiled they
    are read from disk by all later processes, which takes tenths of a second.

    Returns:
        The seconds that each backend took: next to none where its kernels were there already.

    Example:
        >>> "branch_and_bound" in warmup()  # doctest: +SKIP
        True
    """
    seconds = {}
    for name in BUILT_IN:
        begin = time.perf_counter()
        solver = solver_class(name)()
        for problem in () if solver.missing_packages() else _problems():
            if not solver.why_not(problem):
                solver.solve(problem, SECONDS if solver.capabilities.time_limit else None)
        seconds[name] = time.perf_counter() - begin
    begin = time.perf_counter()
    _gibbs()
    seconds["gibbs"] = time.perf_counter() - begin
    return seconds


def _problems() -> Iterator[Problem]:
    """Small problems that lead to all kernels: dense and sparse, of one word and of more, in both types."""
    random = np.random.default_rng(0)
    drawn = [dense(12, 2, random), dense(30, 1, random), dense(80, 1, random), spin_glass(3, 12, 20, random)]
    drawn += [grid(9, 9, 1, random), grid(4, 4, 1, random), spin_glass(12, 12, 1, random)]
    for one in drawn:
        for dtype in (np.float32, np.float64):
            scores = one.unary.astype(dtype), one.pairwise.astype(dtype)
            yield Problem.from_arrays(*scores, edges=one.edges)
    wild = np.exp(random.normal(0.0, 20.0, (1, 66)))  # for scores that lose too much as small integers
    edges = np.stack(np.triu_indices(12, 1), axis=-1)
    yield Problem.from_arrays(random.standard_normal((1, 12)), wild, edges=edges)
    yield Problem.from_arrays(random.standard_normal((1, 2)))


def _gibbs() -> None:
    random = np.random.default_rng(1)
    for one in (dense(10, 2, random), spin_glass(3, 12, 2, random)):
        for dtype in (np.float32, np.float64):
            unary, pairwise = one.unary.astype(dtype), one.pairwise.astype(dtype)
            problem = Problem.from_arrays(unary, pairwise, edges=one.edges)
            uniforms = random.random(uniforms_shape(problem, 2))
            found = gibbs(unary, pairwise, edges=one.edges, uniforms=uniforms)
            found.sample(uniforms)
            found.covariance_product(unary, pairwise)
