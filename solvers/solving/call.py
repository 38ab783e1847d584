"""`solve`: check the arguments, run a solver, and return the answer in the caller's terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any, TypedDict, overload

import numpy as np
from typing_extensions import Unpack

from ..arrays import ArrayLike, ArrayOf, ArrayT, States
from ..constraints import Constraint, listed
from ..conversions import Answer, AnyConversion
from ..conversions.answer import Answers
from ..errors import ProblemError, UnsupportedProblemError
from ..graph_breaks import between_graphs
from ..limits.deadline import Deadline
from ..limits.time_limits import deadline_of
from ..problems.any_problem import AnyProblem
from ..problems.problem import Problem
from ..ranking import each_found
from ..solution import Solution
from ..solver import CertifiedSolver
from .bits.at_once import solved_at_once
from .kinds import kind_of
from .listening import Callback, in_original_terms, report_to
from .one_request.dispatch import solve_request
from .request import Request

Solver = str | CertifiedSolver[Any]
"""A name, "auto" or a solver object."""


class Options(TypedDict, total=False):
    """The options of `solve` except `k_best`, which `solve` documents."""

    solver: Solver
    time_limit: float | Deadline | None
    fix: Any
    start: Any
    constraints: Iterable[Constraint]
    callback: Callback | None


@overload
def solve(
    unary: AnyConversion[Any], *, k_best: None = None, **options: Unpack[Options]
) -> Answer: ...
@overload
def solve(unary: AnyConversion[Any], *, k_best: int, **options: Unpack[Options]) -> Answers: ...
@overload
def solve(
    unary: AnyProblem[ArrayT], *, k_best: int | None = None, **options: Unpack[Options]
) -> Solution[ArrayT]: ...
@overload
def solve(
    unary: ArrayLike,
    pairwise: ArrayLike | None = None,
    *,
    edges: Any = None,
    k_best: int | None = None,
    **options: Unpack[Options],
) -> Solution[np.ndarray]: ...
@overload
def solve(
    unary: ArrayOf[ArrayT],
    pairwise: ArrayOf[ArrayT] | None = None,
    *,
    edges: Any = None,
    k_best: int | None = None,
    **options: Unpack[Options],
) -> Solution[ArrayT]: ...
@between_graphs
def solve(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    solver: Solver = "auto",
    time_limit: float | Deadline | None = None,
    fix: Any = None,
    start: Any = None,
    k_best: int | None = None,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> Solution | Answer | Answers:
    """Return the assignment of highest score for each pairwise binary problem of a batch.

    score(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j

    Args:
        unary: `[..., n]`, numpy, torch (host or device), any array of the array API standard, or
            lists; or a `Problem`, a `LabelProblem`, or a `Conversion` of either kind, without other
            arrays. For arrays of labels see `solve_labels`.
        pairwise: None; `[..., n, n]`, upper triangular or symmetric with a zero diagonal, each pair
            counted once; or `[..., e]` with `edges`. Leading dimensions broadcast.
        edges: `[e, 2]`, the pairs, shared by the batch; or `[2, e]`, where e is not 2.
        solver: a name of `available_solvers()`, a solver object, or "auto" (`select_solver`).
        time_limit: seconds for the whole batch, for solvers that can stop early; or a `Deadline`.
        fix: variables that keep a value: {i: value}, or `[n]` or `[..., n]` with -1 for a free one.
            Instances may fix different variables. For a `Conversion`, the keys and values are its
            own names and values.
        start: initial states `[..., n]`, in the form of `Solution.z`; for a `Conversion`, {name:
            value}. The answer is never worse than states that satisfy the constraints. If the
            solver cannot use initial states, `stats["start"]` is "unused".
        k_best: number of states to return, in falling order of their scores. `z` is
            `[..., k_best, n]`, and other arrays are `[..., k_best]`. `bound[..., k]` is an upper
            bound on the scores of all states except the first k. `optimal[..., k]` is True if it is
            proved that none of them scores more than state k. A row without a state holds -1, and
            its score is minus infinity. If its bound is minus infinity too, no more states exist;
            otherwise the time limit passed. A `Conversion` gives a tuple of answers, which has
            fewer than `k_best` entries only if no more exist. Cannot be combined with `start`.
        constraints: constraints made by `solvers.constraints`. Score, bound and certificate then
            refer to the states that satisfy them. `exhaustive`, `cp_sat`, `highs` and `cplex` take
            all of them. `branch_and_bound`, and `elimination` on trees, take limits on the number
            of ones. `auto` chooses among these solvers. Constraints of a `LabelProblem` are over
            (variable, value), and solvers of its bits take them. The constraints of a `Conversion`
            apply too.
        callback: called with a `Progress` (best states so far, scores, bounds, seconds) during a
            search, at most every 0.2 seconds, in the thread of the caller. If it returns True, the
            search ends and the incumbent is returned with its bound. This call raises any exception
            of the callback. With `k_best`, the callback receives the best state. Solvers that take
            no time limit never call it, and `stats["callback"]` is "unused".

    Returns:
        The solution, whose arrays are of the same kind and on the same device as `unary`. For a
        `Conversion`, an `Answer` with the names and values of the original.

    Raises:
        ProblemError: the arrays do not describe a problem.
        UnknownSolverError: no solver has that name.
        SolverUnavailableError: the solver needs a package that is not installed.
        UnsupportedProblemError: the solver cannot take this problem; `.reasons` says why.
        SolveFailedError: the backend stopped without an answer, the time limit passed before a
            state satisfied the constraints, or a `Conversion` got fewer than `k_best` answers in
            time.
        InfeasibleError: no state satisfies the constraints.
        OptionError: the time limit is not positive; `fix` or `start` does not fit the problem;
            `callback` is no function.
        SolveInterrupted: Ctrl-C stopped a search; the exception has the incumbent.

    Example:
        >>> solution = solve([1.0, -2.0, 0.5], [[0, 3, -1], [0, 0, 0], [0, 0, 0]])
        >>> solution.z.tolist(), solution.score, solution.optimal, solution.solver
        ([1, 1, 0], 2.0, True, 'exhaustive')
    """
    started = perf_counter()
    has_start = fix is not None or start is not None
    has_limit = time_limit is not None or callback is not None
    is_unconstrained = isinstance(constraints, tuple) and not constraints
    # The checks below take longer than solving a few variables, so small plain calls go first.
    if not (has_start or has_limit or k_best is not None) and is_unconstrained:
        at_once = solved_at_once(solver, unary, pairwise, edges)
        if at_once is not None:
            return at_once
    if isinstance(unary, AnyConversion):
        _refuse_pairs(unary, pairwise, edges)
        return _answer(unary, solver, time_limit, fix, start, k_best, constraints, callback)
    problem = _problem_of(unary, pairwise, edges)
    deadline = deadline_of(time_limit)
    rows = None
    if not is_unconstrained:
        rows = kind_of(problem).rows(constraints, problem)
    request = Request(problem, solver, deadline, fix, start, k_best, rows)
    if callback is None:
        solution = solve_request(request)
    else:
        solution = _solve_with_callback(request, callback)
    return solution.after(perf_counter() - started)


def _problem_of(unary: Any, pairwise: Any, edges: Any) -> AnyProblem[Any]:
    """Return the checked problem of arrays, or a problem as it is."""
    if isinstance(unary, AnyProblem):
        _refuse_pairs(unary, pairwise, edges)
        return unary
    return Problem.from_arrays(unary, pairwise, edges=edges)


def _refuse_pairs(problem: object, pairwise: Any, edges: Any) -> None:
    """Raise if pairs come beside a problem or a conversion."""
    if pairwise is not None or edges is not None:
        raise ProblemError(
            f"a {type(problem).__name__} has its pairs; pass neither pairwise nor edges"
        )


def _answer(
    conversion: AnyConversion[Any],
    solver: Solver,
    time_limit: float | Deadline | None,
    fix: Any,
    start: Any,
    k_best: int | None,
    constraints: Iterable[Constraint],
    callback: Callback | None,
) -> Answer | Answers:
    """Return the answer to a conversion, or several answers."""
    if k_best is not None and (reason := conversion.why_not_counted()):
        raise UnsupportedProblemError("k_best", (reason,))
    solution = solve(
        conversion.problem,
        solver=solver,
        time_limit=time_limit,
        fix=conversion.fix(fix),
        start=conversion.start(start),
        k_best=k_best,
        constraints=tuple(conversion.with_constraints(listed(constraints))),
        callback=in_original_terms(conversion, callback),
    )
    if k_best is None:
        return conversion.answer(solution)
    return Answers(conversion.answer(one) for one in each_found(solution))


def _solve_with_callback(request: Request, callback: Callback) -> Solution:
    """Return the solution, and report the progress of the search to a callback."""
    with report_to(callback, request.problem, _initial_states(request)):
        return solve_request(replace(request, deadline=Deadline.of(request.deadline)))


def _initial_states(request: Request) -> States | None:
    """Return the states `[batch, n]` that a callback receives before the search.

    None if there are no such states.
    """
    problem = request.problem
    kind = request.kind
    rows = request.rows
    states = kind.first(problem, request.fix, kind.states(request.start, problem))
    if states is None or rows is None or rows.satisfied(problem.columns(states)).all():
        return states
    return None
