"""Solve small instances by one call of a kernel, for solvers that offer such a kernel.

For small instances, the checks of a problem and of an answer take longer than the search. Some
solvers have a kernel that runs the same checks itself: `ArgmaxSolver.maximise_at_once`. `solve`
handles all other calls.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

from ...arrays import NUMPY
from ...errors import SolverError
from ...problems.pairs import topology_of
from ...problems.problem import DOUBLE, Problem
from ...problems.topology import Topology
from ...registry import BITS
from ...solution import Solution
from ...solver import ArgmaxSolver
from .selection import MOST_AT_ONCE, QUICKLY_CUT, QUICKLY_ENUMERABLE, selected_at_once

BITS_TYPE = np.dtype(np.int8)


def solved_at_once(
    solver: Any, unary: Any, pairwise: Any, edges: Any
) -> Solution[np.ndarray] | None:
    """Return the solution of small instances; None if `solve` has to check or solve them.

    Args:
        solver: a name, a solver object or "auto", before any check.
        unary: the scores as a caller passed them, or a checked problem. The function returns None
            unless the scores are numpy arrays `[n]` or `[batch, n]` of float64.
        pairwise: such scores of `edges`, `[e]` or `[batch, e]`; or a matrix `[n, n]` beside `[n]`;
            None beside a problem.
        edges: the pairs; None for a matrix.
    """
    begin = perf_counter()
    if isinstance(unary, Problem):
        if pairwise is not None or edges is not None:
            return None
        return _solved_checked(solver, unary, begin)
    n = _small_size(unary, pairwise)
    if not n or (edges is None and unary.ndim > 1):
        return None
    topology = None
    try:
        named = BITS.named(solver)
        if edges is not None:
            topology = topology_of(edges, n)
    except SolverError:  # `solve` raises the same error
        return None
    if topology is not None and not topology.e:
        return None
    return _solved(named, topology, n, unary, pairwise, begin)


def _solved_checked(solver: Any, problem: Problem, begin: float) -> Solution[np.ndarray] | None:
    """Return the solution of a checked problem of small instances, or None."""
    if len(problem.leading) > 1 or problem.home is not NUMPY or not problem.e:
        return None
    unary = problem.unary
    pairwise = problem.pairwise
    if not problem.leading:
        unary = unary[0]
        pairwise = pairwise[0]
    n = _small_size(unary, pairwise)
    if not n:
        return None
    try:
        named = BITS.named(solver)
    except SolverError:  # `solve` raises the same error
        return None
    return _solved(named, problem.topology, n, unary, pairwise, begin)


def solved_over(
    topology: Topology, named: ArgmaxSolver | None, unary: Any, pairwise: Any
) -> Solution[np.ndarray] | None:
    """Return the solution of small instances over checked pairs, or None.

    Args:
        topology: the pairs.
        named: the solver; None for "auto".
        unary: the scores as a caller passed them. The function returns None unless they are a numpy
            array `[n]` or `[batch, n]` of float64.
        pairwise: such scores, `[e]` or `[batch, e]`.
    """
    begin = perf_counter()
    n = topology.n
    if not topology.e or _small_size(unary, pairwise) != n:
        return None
    return _solved(named, topology, n, unary, pairwise, begin)


def _small_size(unary: Any, pairwise: Any) -> int:
    """Return the number of variables of instances that may be small; else 0.

    It is 0 unless both are float64 numpy arrays of one instance, or matrices with a row for each
    instance. Their shapes need not fit together.
    """
    if type(unary) is not np.ndarray or type(pairwise) is not np.ndarray:
        return 0
    if unary.dtype is not DOUBLE or pairwise.dtype is not DOUBLE:
        return 0
    if unary.ndim == 1:
        n = len(unary)
        # Larger instances are only solved here if their graph is like a tree: it has few pairs.
        if n <= QUICKLY_CUT or (n <= MOST_AT_ONCE and 2 * pairwise.size <= 3 * n):
            return n
        return 0
    if unary.ndim != 2 or pairwise.ndim != 2:
        return 0
    batch, n = unary.shape
    if n <= QUICKLY_ENUMERABLE and batch:
        return int(n)
    return 0


def _solved(
    named: ArgmaxSolver | None,
    topology: Topology | None,
    n: int,
    unary: np.ndarray,
    pairwise: np.ndarray,
    begin: float,
) -> Solution[np.ndarray] | None:
    """Return the solution of the first kernel that takes the instances, or None."""
    # Only the size and the pairs decide here, since reading all scores takes as long as solving.
    if named is None:
        chosen = selected_at_once(n, topology, pairwise)
    else:
        chosen = (named,)
    z = np.empty(unary.shape, BITS_TYPE)
    for solver in chosen:
        if "maximise_at_once" not in type(solver).__dict__:  # see there
            return None
        try:
            answer = solver.maximise_at_once(topology, unary, pairwise, z)
        except TypeError:  # of another layout
            return None
        if answer is not None:
            score, bound, proved, stats = answer
            seconds = perf_counter() - begin
            return Solution(z, score, proved, bound, solver.name, stats, seconds)
    return None
