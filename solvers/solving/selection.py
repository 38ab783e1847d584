"""Choose a solver for a problem, and name alternatives if a solver cannot take it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, overload

from ..constraint_rows import Rows
from ..errors import UnsupportedProblemError
from ..problems.any_problem import AnyProblem
from ..problems.problem import Problem
from ..solver import ArgmaxSolver, CertifiedSolver
from .kinds import Selection, check_any_problem, kind_of


@contextmanager
def naming_alternatives(problem: AnyProblem, rows: Rows | None = None) -> Iterator[None]:
    """Add the names of solvers that can take `problem` to errors raised inside this context.

    Args:
        problem: a `Problem` or a `LabelProblem`.
        rows: constraints that the solvers have to take too; None for none.

    Raises:
        UnsupportedProblemError: the error of a solver that cannot take the problem.

    Example:
        >>> from solvers import Problem, solver_class
        >>> problem = Problem.from_arrays([1.0, 1.0], [-1.0], edges=[[0, 1]])
        >>> try:
        ...     with naming_alternatives(problem):
        ...         solver_class("independent")().solve(problem)
        ... except UnsupportedProblemError as error:
        ...     "exhaustive" in error.alternatives
        True
    """
    try:
        yield
    except UnsupportedProblemError as error:
        able = kind_of(problem).registry.able(problem, rows)
        raise with_alternatives(error, able) from error.__cause__


def with_alternatives(
    error: UnsupportedProblemError, able: tuple[str, ...]
) -> UnsupportedProblemError:
    """Return an error that names the solvers which are able to take the problem."""
    others = tuple(name for name in able if name != error.solver)
    return UnsupportedProblemError(error.solver, error.reasons, others)


@overload
def resolve(solver: str | ArgmaxSolver, problem: Problem) -> ArgmaxSolver: ...
@overload
def resolve(solver: str | CertifiedSolver[Any], problem: AnyProblem) -> CertifiedSolver[Any]: ...
def resolve(solver: str | CertifiedSolver[Any], problem: AnyProblem) -> CertifiedSolver[Any]:
    """Return the solver object that a name, an object or "auto" stands for, for this problem.

    Raises:
        UnknownSolverError: no solver has that name.
    """
    kind = kind_of(problem)
    return kind.named(solver) or kind.select(problem).solver


@overload
def select_solver(problem: Problem) -> Selection[ArgmaxSolver]: ...
@overload
def select_solver(problem: AnyProblem) -> Selection[Any]: ...
def select_solver(problem: AnyProblem) -> Selection[Any]:
    """Return the fastest installed solver that is exact for `problem`, with the reason.

    It is never a heuristic and never a plug-in. With a time limit it may stop before it has a
    proof; `optimal` is then False.

    Example:
        >>> import numpy as np
        >>> from solvers import Problem
        >>> select_solver(Problem.from_arrays(np.ones(15), np.triu(np.ones((15, 15)), 1))).reason
        'n = 15 is at most 20: all 2^15 states are tried'

    Raises:
        ProblemError: `problem` is not a `Problem`.
    """
    check_any_problem(problem)
    return kind_of(problem).select(problem)
