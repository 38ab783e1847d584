"""Every kernel compiled now, so that no later solve waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from .constraint_rows import Rows
from .constraints import cardinality
from .gibbs_distribution.distribution import gibbs, uniforms_shape
from .instances import dense, grid, spin_glass
from .labels.gibbs_distribution import gibbs as label_gibbs
from .labels.gibbs_estimate import METHODS
from .labels.problem import LabelProblem
from .labels.registry import BUILT_IN as OF_LABELS
from .labels.registry import solver_class as label_solver_class
from .limits.deadline import expect_compilation
from .problem import Problem
from .registry import BUILT_IN, solver_class
from .solver import ArgmaxSolver

SECONDS, LONGER = 0.05, 1.0
"""Of each search, once its kernels are compiled; of those that get to kernels for what is hard."""

NARROW = 12
"""Greatest treewidth for elimination, whose tables double in size with it."""


def warmup(progress: Callable[[str, int, int], object] = lambda name, done, total: None) -> dict[str, float]:
    """Compiles the kernels of all installed backends and of `gibbs`, and keeps them on disk.

    Numba compiles for the processor that it runs on, so kernels cannot come with the installation. Once compiled they
    are read from disk by all later processes, which takes tenths of a second.

    Args:
        progress: called before every turn with its name, how many there were before it and how many there are: every
            backend, "gibbs", and those of labels, such as "labels elimination".

    Returns:
        The seconds that each backend took: next to none where its kernels were there already.

    Example:
        >>> "branch_and_bound" in warmup()  # doctest: +SKIP
        True
    """
    expect_compilation()
    steps = {name: partial(_solve_all, name) for name in BUILT_IN} | {"gibbs": _gibbs}
    steps |= {f"labels {name}": partial(_solve_labels, name) for name in OF_LABELS}
    steps["labels gibbs"] = _label_gibbs
    seconds = {}
    for done, (name, step) in enumerate(steps.items()):
        progress(name, done, len(steps))
        begin = time.perf_counter()
        step()
        seconds[name] = time.perf_counter() - begin
    return seconds


def _solve_all(name: str) -> None:
    solver = solver_class(name)()
    if not solver.missing_packages():
        for problem in _problems():
            if _takes(solver, problem):
                solver.solve(problem, SECONDS if solver.capabilities.time_limit else None)
        for problem in _hard(name):
            solver.solve(problem, LONGER)
        _solve_more(solver)


def _solve_more(solver: ArgmaxSolver) -> None:
    """Several states, and states that satisfy constraints, where the solver finds them."""
    pair, rows = Problem.from_arrays([1.0, 1.0], [1.0], edges=[[0, 1]]), Rows.of([cardinality(1)], 2)
    if not solver.why_not(pair):
        solver.best_states(pair, 2)
        if solver.why_not_within(pair, rows) is None:
            solver.solve_within(pair, rows)


def _takes(solver: ArgmaxSolver, problem: Problem) -> bool:
    """Whether the solver can take the problem, and does not take long for it."""
    narrow = solver_class("elimination").treewidth_bound(problem, NARROW) is not None
    return not solver.why_not(problem) and (narrow or solver.capabilities.max_treewidth is None)


def _problems() -> Iterator[Problem]:
    """Small problems that lead to all kernels: dense and sparse, of one word and of more, in both types."""
    random = np.random.default_rng(0)
    drawn = [dense(12, 2, random), dense(30, 1, random), dense(80, 1, random), spin_glass(3, 12, 20, random)]
    drawn += [grid(9, 9, 1, random), grid(4, 4, 1, random), spin_glass(12, 12, 1, random)]
    drawn += [replace(one, pairwise=np.abs(one.pairwise)) for one in drawn[:3]]  # supermodular
    for one in drawn:
        for dtype in (np.float32, np.float64):
            scores = one.unary.astype(dtype), one.pairwise.astype(dtype)
            yield Problem.from_arrays(*scores, edges=one.edges)
    wild = np.exp(random.normal(0.0, 20.0, (1, 66)))  # for scores that lose too much as small integers
    edges = np.stack(np.triu_indices(12, 1), axis=-1)
    yield Problem.from_arrays(random.standard_normal((1, 12)), wild, edges=edges)
    yield Problem.from_arrays(random.standard_normal((1, 2)))


def _hard(name: str) -> Iterator[Problem]:
    """Spin glasses of +1 and -1 without a field, that leave a gap at the root of a search."""
    sizes = {"branch_and_bound": (0, 100, 1.0), "cycle_cuts": (2, 70, 0.1)}
    if name in sizes:
        seed, n, density = sizes[name]
        random = np.random.default_rng(seed)
        edges = np.stack(np.triu_indices(n, 1), axis=1)
        edges = edges[random.random(len(edges)) < density]
        couplings = random.choice([-1.0, 1.0], len(edges))
        unary = np.bincount(edges.ravel(), couplings.repeat(2), n)
        yield Problem.from_arrays(unary, -2 * couplings, edges=edges)


def _solve_labels(name: str) -> None:
    """Chains, and grids that leave a gap at the root of a search: tables shared or of their own, and equal values."""
    random, solver = np.random.default_rng(2), label_solver_class(name)()
    chain, lattice = np.stack([np.arange(5), np.arange(1, 6)], axis=1), grid(12, 12, 1, random).edges
    for n, edges in ((6, chain), (144, lattice)):
        unary = random.normal(size=(2, n, 4))
        tables, pairs = random.normal(size=(4, 4)), random.normal(size=(2, len(edges), 4, 4))
        for given in ({"pairwise": tables}, {"pairwise": pairs}, {"potts": pairs[:, :, 0, 0]}):
            problem = LabelProblem.from_arrays(unary, edges=edges, **given)
            if not solver.why_not(problem) and (n < 144 or solver.capabilities.time_limit):
                solver.solve(problem, SECONDS if solver.capabilities.time_limit else None)


def _label_gibbs() -> None:
    for method in METHODS:
        label_gibbs([[0.0, 1.0], [0.0, 1.0]], np.eye(2), edges=[[0, 1]], method=method)


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
            completions = found.completions(random.random((2, *problem.leading, problem.n)))
            completions.derivative(np.zeros(completions.variables.shape))
