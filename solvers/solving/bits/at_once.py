"""Solve one small instance by one call of a kernel, for solvers that offer such a kernel.

For a small instance, the checks of a problem and of an answer take longer than the search. Some
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
from .selection import MOST_AT_ONCE, QUICKLY_CUT, selected_at_once


def solved_at_once(
    solver: Any, unary: Any, pairwise: Any, edges: Any
) -> Solution[np.ndarray] | None:
    """Return the solution of one small instance; None if `solve` has to check or solve it.

    Args:
        solver: a name, a solver object or "auto", before any check.
        unary: the scores as a caller passed them, or a checked problem. The function returns None
            unless the scores are numpy arrays `[n]` of float64.
        pairwise: such scores as a matrix, or the scores of `edges`; None beside a problem.
        edges: the pairs; None for a matrix.
    """
    begin = perf_counter()
    if isinstance(unary, Problem):
        if pairwise is not None or edges is not None:
            return None
        return _solved_checked(solver, unary, begin)
    if not _is_one_instance(unary, pairwise):
        return None
    topology = None
    try:
        named = BITS.named(solver)
        if edges is not None:
            topology = topology_of(edges, len(unary))
    except SolverError:  # `solve` raises the same error
        return None
    if topology is not None and not topology.e:
        return None
    return _solved(named, topology, unary, pairwise, begin)


def _solved_checked(solver: Any, problem: Problem, begin: float) -> Solution[np.ndarray] | None:
    """Return the solution of a checked problem of one small instance, or None."""
    if problem.leading or problem.home is not NUMPY or not problem.e:
        return None
    unary = problem.unary[0]
    pairwise = problem.pairwise[0]
    if not _is_one_instance(unary, pairwise):
        return None
    try:
        named = BITS.named(solver)
    except SolverError:  # `solve` raises the same error
        return None
    return _solved(named, problem.topology, unary, pairwise, begin)


def solved_over(
    topology: Topology, named: ArgmaxSolver | None, unary: Any, pairwise: Any
) -> Solution[np.ndarray] | None:
    """Return the solution of one small instance over checked pairs, or None.

    Args:
        topology: the pairs.
        named: the solver; None for "auto".
        unary: the scores as a caller passed them. The function returns None unless they are a numpy
            array `[n]` of float64.
        pairwise: such scores, `[e]`.
    """
    begin = perf_counter()
    if not _is_one_instance(unary, pairwise) or len(unary) != topology.n or not topology.e:
        return None
    return _solved(named, topology, unary, pairwise, begin)


def _is_one_instance(unary: Any, pairwise: Any) -> bool:
    """Return whether both are float64 numpy arrays of one instance that may be small."""
    if type(unary) is not np.ndarray or type(pairwise) is not np.ndarray:
        return False
    if unary.dtype is not DOUBLE or pairwise.dtype is not DOUBLE or unary.ndim != 1:
        return False
    n = len(unary)
    # Larger instances are only solved here if their graph is like a tree, which has few pairs.
    return n <= QUICKLY_CUT or (n <= MOST_AT_ONCE and 2 * pairwise.size <= 3 * n)


def _solved(
    named: ArgmaxSolver | None,
    topology: Topology | None,
    unary: np.ndarray,
    pairwise: np.ndarray,
    begin: float,
) -> Solution[np.ndarray] | None:
    """Return the solution of the first kernel that takes the instance, or None."""
    # Only the size and the pairs decide here, since reading all scores takes as long as solving.
    if named is None:
        chosen = selected_at_once(len(unary), topology, pairwise)
    else:
        chosen = (named,)
    z = np.empty(len(unary), np.int8)
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
