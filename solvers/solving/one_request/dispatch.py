"""Solve a request by the search that its options ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...constraint_rows import Rows
from ...errors import OptionError, SolveFailedError, UnsupportedProblemError
from ...limits.deadline import preparing
from ...limits.interrupts import kernels_hear_keyboard
from ...solution import Solution, SolveInterrupted
from ...solver import CertifiedSolver
from ..k_best.constrained import k_best_within
from ..k_best.unconstrained import check_count, k_best
from ..listening import heard_of, with_word
from ..request import Request
from ..selection import naming_alternatives, with_alternatives
from .empty import solve_empty
from .in_groups import solve_groups
from .starts import at_least_start, solution_of_start


def solve_request(request: Request) -> Solution:
    """Return the best state, or as many states as the request asks for."""
    if request.problem.is_empty:
        return solve_empty(request)
    has_rows = request.rows is not None and len(request.rows) > 0
    if request.fix is not None and (has_rows or request.k is not None):
        groups = request.kind.groups(request.problem, request.fix, has_rows)
        if len(groups) > 1:
            return solve_groups(request, groups, solve_request)
    # Constraints take precedence, since `_within` handles fixed variables and several states too.
    if request.rows is not None and has_rows:
        return _within(request, request.rows)
    if request.k is not None:
        return _many(request)
    if request.fix is not None:
        return _with_fixed(request)
    return _solved(request)


def _solved(request: Request) -> Solution:
    """Return the solution of a problem without fixed variables or constraints."""
    kind = request.kind
    problem = request.problem
    chosen = _chosen(request)
    states = None
    takes_start = False
    if request.start is not None:
        states = kind.states(request.start, problem)
        takes_start = "start" in chosen.options()
        if takes_start:
            chosen = chosen.with_options(start=request.start)
    try:
        solution = chosen.solve(problem, request.deadline)
    except UnsupportedProblemError as error:
        raise with_alternatives(error, kind.registry.able(problem)) from error.__cause__
    except SolveInterrupted as stopped:
        raise SolveInterrupted(
            at_least_start(problem, stopped.solution, states, takes_start)
        ) from None
    except SolveFailedError:
        # A failure before the deadline is a fault; after it, the user's state is still an answer.
        if states is None or not request.deadline.passed:
            raise
        of_start = solution_of_start(problem, states, chosen)
        if of_start is None:
            raise
        solution = of_start
    if states is not None:
        solution = at_least_start(problem, solution, states, takes_start)
    return with_word(solution, chosen)


def _chosen(request: Request) -> CertifiedSolver[Any]:
    """Return the solver for a request, chosen within a share of its time limit."""
    kind = request.kind
    problem = request.problem
    solver = request.solver
    if not request.deadline.limited and kind.is_chosen_at_once(problem):  # most calls
        return kind.named(solver) or kind.select(problem).solver
    with preparing(request.deadline), kernels_hear_keyboard():
        return kind.named(solver) or kind.select(problem).solver


def _within(request: Request, rows: Rows) -> Solution:
    """Return the solution among the states that satisfy the constraints.

    Fixed variables count as constraints.
    """
    if request.k is not None:
        _refuse_start(request)
    kind = request.kind
    whole = request.problem
    problem, rows = kind.within(whole, rows, request.fix)
    states = kind.states(request.start, problem)
    with preparing(request.deadline), kernels_hear_keyboard():
        named = kind.named(request.solver)
        chosen = named or kind.select_within(problem, rows, request.k or 1).solver
    if request.k is not None:
        with heard_of(problem, lambda incumbent: incumbent):
            return k_best_within(replace(request, problem=problem), rows, chosen)
    takes_start = states is not None and "start" in chosen.options()
    if takes_start:
        chosen = chosen.with_options(start=request.start)
    # A user's state that violates the constraints is not an answer.
    allowed = None
    if states is not None:
        allowed = rows.satisfied(problem.columns(states))
    try:
        with heard_of(problem, lambda incumbent: incumbent), naming_alternatives(problem, rows):
            solution = chosen.solve_within(problem, rows, request.deadline)
    except SolveInterrupted as stopped:
        stop = at_least_start(problem, stopped.solution, states, takes_start, allowed)
        raise SolveInterrupted(stop) from None
    solution = at_least_start(problem, solution, states, takes_start, allowed)
    return with_word(solution, chosen)


def _refuse_start(request: Request) -> None:
    if request.start is not None:
        raise OptionError("k_best and start cannot be combined; leave out one of them")


def _many(request: Request) -> Solution:
    """Return the states of highest score."""
    _refuse_start(request)
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


def _with_fixed(request: Request) -> Solution:
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
        with heard_of(fixed.rest, fixed.known):
            return fixed.lifted(_solved(rest))
    except SolveInterrupted as stopped:
        if not stopped.found:
            raise
        raise SolveInterrupted(fixed.lifted(stopped.solution)) from None
