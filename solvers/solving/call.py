"""`solve`: check the arguments, run a solver, and return the answer in the caller's terms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any, TypedDict, overload

import numpy as np
from typing_extensions import Unpack

from ..arrays import ArrayLike, ArrayOf, ArrayT, States, to_numpy
from ..constraint_rows import Rows
from ..constraints import Constraint, listed
from ..conversions import Answer, AnyConversion
from ..conversions.answer import Answers
from ..errors import OptionError, ProblemError, SolveFailedError, UnsupportedProblemError
from ..graph_breaks import between_graphs
from ..limits.deadline import Deadline, preparing
from ..limits.interrupts import kernels_hear_keyboard
from ..problems.any_problem import AnyProblem
from ..problems.problem import Problem
from ..ranking import each_found
from ..solution import Solution, SolveInterrupted
from ..solver import CertifiedSolver, deadline_of
from .bits.at_once import solved_at_once
from .k_best.constrained import k_best_within
from .k_best.unconstrained import check_count
from .k_best.unconstrained import k_best as best_of_many
from .kinds import kind_of
from .listening import Callback, heard_by, heard_of, in_words, with_word
from .one_request.empty import nothing_to_decide
from .one_request.in_groups import answered_in_groups
from .request import Request
from .selection import naming_alternatives, with_alternatives

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
    begin = perf_counter()
    is_plain = fix is None and start is None and k_best is None
    is_plain = is_plain and time_limit is None and callback is None
    is_free = isinstance(constraints, tuple) and not constraints
    # The checks below take longer than solving a few variables, so small plain calls go first.
    if is_plain and is_free:
        at_once = solved_at_once(solver, unary, pairwise, edges)
        if at_once is not None:
            return at_once
    if isinstance(unary, AnyConversion):
        _refuse_pairs(unary, pairwise, edges)
        return _answer(unary, solver, time_limit, fix, start, k_best, constraints, callback)
    problem = _problem_of(unary, pairwise, edges)
    deadline = deadline_of(time_limit)
    rows = None
    if not is_free:
        rows = kind_of(problem).rows(constraints, problem)
    request = Request(problem, solver, deadline, fix, start, k_best, rows)
    if callback is None:
        solution = answered(request)
    else:
        solution = _heard(request, callback)
    return solution.after(perf_counter() - begin)


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
        callback=in_words(conversion, callback),
    )
    if k_best is None:
        return conversion.answer(solution)
    return Answers(conversion.answer(one) for one in each_found(solution))


def _heard(request: Request, callback: Callback) -> Solution:
    """Return the solution, and report the progress of the search to a callback."""
    with heard_by(callback, request.problem, _first(request)):
        return answered(replace(request, deadline=Deadline.of(request.deadline)))


def _first(request: Request) -> States | None:
    """Return the states `[batch, n]` that a callback receives before the search.

    None if there are no such states.
    """
    problem = request.problem
    kind = request.kind
    rows = request.rows
    first = kind.first(problem, request.fix, kind.states(request.start, problem))
    if first is None or rows is None or rows.satisfied(problem.columns(first)).all():
        return first
    return None


def answered(request: Request) -> Solution:
    """Return the best state, or as many states as the request asks for."""
    if request.problem.is_empty:
        return nothing_to_decide(request)
    has_rows = request.rows is not None and len(request.rows) > 0
    if request.fix is not None and (has_rows or request.k is not None):
        groups = request.kind.groups(request.problem, request.fix, has_rows)
        if len(groups) > 1:
            return answered_in_groups(request, groups, answered)
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
        raise SolveInterrupted(_at_least(problem, stopped.solution, states, takes_start)) from None
    except SolveFailedError:
        # A failure before the deadline is a fault; after it, the user's state is still an answer.
        if states is None or not request.deadline.passed:
            raise
        of_start = _of_start(problem, states, chosen)
        if of_start is None:
            raise
        solution = of_start
    if states is not None:
        solution = _at_least(problem, solution, states, takes_start)
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
        stop = _at_least(problem, stopped.solution, states, takes_start, allowed)
        raise SolveInterrupted(stop) from None
    solution = _at_least(problem, solution, states, takes_start, allowed)
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
        return best_of_many(request, choose, choose_ranking)


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


def _of_start(problem: Any, states: States, solver: CertifiedSolver[Any]) -> Solution | None:
    """Return the states to start from as the solution, for a search that ended without one.

    None if one of them is forbidden.
    """
    host = problem.to_host()
    score = to_numpy(kind_of(problem).score(host, states))
    if (score == -np.inf).any():
        return None
    return Solution(
        z=host.restore(states),
        score=host.restore(score),
        optimal=host.restore(np.zeros(len(score), bool)),
        # A score may exceed the bound by rounding, and a
        # bound below a score would be a contradiction.
        bound=host.restore(np.maximum(score, to_numpy(host.trivial_bound))),
        solver=solver.name,
        stats={},
    )


def _at_least(
    problem: Any,
    solution: Solution,
    states: States | None,
    takes_start: bool,
    allowed: np.ndarray | None = None,
) -> Solution:
    """Return a solution at least as good as the states to start from.

    Its `stats` say whether these states were used.

    Args:
        problem: the solved problem.
        solution: the solution of the search.
        states: `[batch, n]`, the states to start from; None for none.
        takes_start: whether the solver used them.
        allowed: `[batch]`, which of these states satisfy the constraints; None for all.
    """
    if states is None:
        return solution
    word = "unused"
    if takes_start:
        word = solution.stats.get("start", "used")
    solution = replace(solution, stats={**solution.stats, "start": word})
    optimal = to_numpy(solution.optimal).reshape(-1)
    if optimal.all():
        return solution
    host = problem.to_host()
    z = to_numpy(solution.z).reshape(problem.batch, problem.n)
    score = to_numpy(solution.score).reshape(-1)
    start_score = to_numpy(kind_of(problem).score(host, states))
    # A proved state stays, even if rounding makes the user's state look better.
    better = (start_score > score) & ~optimal
    if allowed is not None:
        better &= allowed
    if not better.any():
        return solution
    score = np.where(better, start_score, score)
    # A bound below the new score would contradict it.
    bound = np.maximum(score, to_numpy(solution.bound).reshape(-1))
    return replace(
        solution,
        z=host.restore(np.where(better[:, None], states, z)),
        score=host.restore(score),
        bound=host.restore(bound),
    )
