"""Solve a request by the search that its options ask for."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ...constraint_rows import Rows
from ...errors import OptionError, UnsupportedProblemError
from ...limits.deadline import preparing
from ...limits.interrupts import kernels_hear_keyboard
from ...solution import Solution, SolveInterrupted
from ...solver import CertifiedSolver
from ..k_best.constrained import k_best_within
from ..k_best.unconstrained import check_count, k_best
from ..listening import report_for_whole, with_callback_note
from ..request import Request
from ..selection import naming_alternatives, with_alternatives
from .empty import solve_empty
from .in_groups import solve_groups
from .starts import Start


def solve_request(request: Request) -> Solution:
    """Return the best state, or as many states as the request asks for."""
    if request.k is not None and request.start is not None:
        raise OptionError("k_best and start cannot be combined; leave out one of them")
    if request.problem.is_empty:
        return solve_empty(request)
    rows = request.rows
    if rows is not None and not len(rows):
        rows = None
    if request.fix is not None and (rows is not None or request.k is not None):
        groups = request.kind.groups(request.problem, request.fix, rows is not None)
        if len(groups) > 1:
            return solve_groups(request, groups, solve_request)
    # Constraints come first, since their search also takes fixed variables and several states.
    if rows is not None:
        return _solve_within(request, rows)
    if request.k is not None:
        return _solve_ranked(request)
    if request.fix is not None:
        return _solve_fixed(request)
    return _solve_free(request)


def _solve_free(request: Request) -> Solution:
    """Return the solution of a problem without fixed variables or constraints."""
    problem = request.problem
    deadline = request.deadline
    solver = _chosen(request)
    try:
        if request.start is None:
            solution = solver.solve(problem, deadline)
        else:
            start = Start.of(request, solver)
            solution = start.improved(partial(start.solver.solve, problem, deadline), deadline)
    except UnsupportedProblemError as error:
        raise with_alternatives(error, request.kind.registry.able(problem)) from error.__cause__
    return with_callback_note(solution, solver)


def _chosen(request: Request) -> CertifiedSolver[Any]:
    """Return the solver for a request, chosen within a share of its time limit."""
    kind = request.kind
    problem = request.problem
    solver = request.solver
    if not request.deadline.limited and kind.is_chosen_at_once(problem):  # most calls
        return kind.named(solver) or kind.select(problem).solver
    with preparing(request.deadline), kernels_hear_keyboard():
        return kind.named(solver) or kind.select(problem).solver


def _solve_within(request: Request, rows: Rows) -> Solution:
    """Return the solution among the states that satisfy the constraints.

    Fixed variables count as constraints.
    """
    kind = request.kind
    deadline = request.deadline
    problem, rows = kind.within(request.problem, rows, request.fix)
    request = replace(request, problem=problem)
    with preparing(deadline), kernels_hear_keyboard():
        named = kind.named(request.solver)
        solver = named or kind.select_within(problem, rows, request.k or 1).solver
    if request.k is not None:
        with report_for_whole(problem, lambda incumbent: incumbent):
            return k_best_within(request, rows, solver)
    start = None
    if request.start is not None:
        start = Start.of(request, solver, rows)
        solver = start.solver
    search = partial(solver.solve_within, problem, rows, deadline)
    with (
        report_for_whole(problem, lambda incumbent: incumbent),
        naming_alternatives(problem, rows),
    ):
        if start is None:
            solution = search()
        else:
            solution = start.improved(search, deadline)
    return with_callback_note(solution, solver)


def _solve_ranked(request: Request) -> Solution:
    """Return the states of highest score."""
    kind = request.kind
    problem = request.problem
    check_count(request.k, problem)

    def choose(batch: Any) -> CertifiedSolver[Any]:
        with preparing(request.deadline), kernels_hear_keyboard():
            return named or kind.select(batch).solver

    def choose_ranking(batch: Any) -> CertifiedSolver[Any]:
        with preparing(request.deadline), kernels_hear_keyboard():
            return named or kind.select_ranking(batch).solver

    with naming_alternatives(problem):
        named = kind.named(request.solver)
        return k_best(request, choose, choose_ranking)


def _solve_fixed(request: Request) -> Solution:
    """Return the solution of a problem in which some variables keep their values."""
    kind = request.kind
    fixed = kind.fixed(request.problem, request.fix)
    states = kind.states(request.start, fixed.problem)
    if fixed.rest is None:
        # An unknown solver name raises an error even if every variable is fixed.
        kind.named(request.solver)
        return fixed.lifted(None)
    start = None
    if states is not None:
        free = fixed.free(states)
        start = free.reshape(*fixed.problem.leading, free.shape[1])
    rest = replace(request, problem=fixed.rest, fix=None, start=start)
    try:
        with report_for_whole(fixed.rest, fixed.known):
            return fixed.lifted(_solve_free(rest))
    except SolveInterrupted as interrupt:
        if not interrupt.found:
            raise
        raise SolveInterrupted(fixed.lifted(interrupt.solution)) from None
