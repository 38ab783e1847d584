"""`solve`: what a caller gives, the solver that takes it, and the answer in the caller's words."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any, overload

import numpy as np

from ..arrays import ArrayLike, ArrayOf, ArrayT, States, to_numpy
from ..constraint_rows import Rows
from ..constraints import Constraint, listed
from ..conversions import Answer, Conversion
from ..errors import OptionError, ProblemError, UnsupportedProblemError, shortened
from ..limits.deadline import now, preparing
from ..limits.interrupts import kernels_hear_keyboard
from ..problem import Problem
from ..ranking import each_found
from ..registry import BINARY
from ..solution import Solution, SolveInterrupted
from ..solver import ArgmaxSolver, deadline_of, score_states, seconds_of
from ..starts import given_states
from .fixing import Fix, Fixing
from .k_best import check_count
from .k_best import k_best as best_of_many
from .k_best_within import k_best_within
from .listening import Callback, heard_by, heard_of, in_words, with_word
from .selection import (
    ENUMERABLE,
    named_solver,
    naming_alternatives,
    resolve,
    select_ranking,
    select_solver,
    select_within,
    with_alternatives,
)

_CHECKED = (Problem, Conversion)


@overload
def solve(
    unary: Conversion,
    *,
    solver: str | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Mapping[Hashable, int] | None = None,
    start: Any = None,
    k_best: None = None,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> Answer: ...


@overload
def solve(
    unary: Conversion,
    *,
    solver: str | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Mapping[Hashable, int] | None = None,
    k_best: int,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> tuple[Answer, ...]: ...


@overload
def solve(
    unary: Problem[ArrayT],
    *,
    solver: str | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Fix | None = None,
    start: Any = None,
    k_best: int | None = None,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> Solution[ArrayT]: ...


@overload
def solve(
    unary: ArrayLike,
    pairwise: ArrayLike | None = None,
    *,
    edges: Any = None,
    solver: str | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Fix | None = None,
    start: Any = None,
    k_best: int | None = None,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> Solution[np.ndarray]: ...


@overload
def solve(
    unary: ArrayOf[ArrayT],
    pairwise: ArrayOf[ArrayT] | None = None,
    *,
    edges: Any = None,
    solver: str | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Fix | None = None,
    start: Any = None,
    k_best: int | None = None,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> Solution[ArrayT]: ...


def solve(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    solver: str | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Any = None,
    start: Any = None,
    k_best: int | None = None,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> Solution | Answer | tuple[Answer, ...]:
    """The assignments z in {0,1}^n of highest score, for a batch of pairwise binary problems.

    score(z) = sum_i unary[i] z_i + sum_(i,j) pairwise[(i,j)] z_i z_j

    Args:
        unary: `[..., n]`, numpy, torch (host or device), any array of the array API standard, or
            lists; or a `Problem`, or a `Conversion`, alone.
        pairwise: None; `[..., n, n]`, upper triangular or symmetric with a zero diagonal, each pair
            counted once; or `[..., e]` with `edges`. Leading dimensions broadcast.
        edges: `[e, 2]`, the pairs, shared by the batch; or `[2, e]`, where e is not 2.
        solver: a name of `available_solvers()`, a solver object, or "auto" (`select_solver`).
        time_limit: seconds for the whole batch, for solvers that can stop early.
        fix: variables that keep a value: {i: 0 or 1}, or `[n]` or `[..., n]` with -1 for a free
            one. For a `Conversion` by its own names and values.
        start: states `[..., n]` to begin with, as `Solution.z` has them, or for a `Conversion`
            {name: value}. The answer is never worse, if they satisfy the constraints; where the
            solver has no use for one, `stats["start"]` is "unused".
        k_best: so many states of highest score, the best first: `z` is `[..., k_best, n]`, and the
            others `[..., k_best]`. `optimal[..., k]` says that no state but the first k scores more
            than state k, and `bound[..., k]` is one on all but these. Rows without a state hold -1
            with a score of minus infinity: if their bound is minus infinity too, there are no more
            states; else the time was up. Of a `Conversion` a tuple of answers: they are fewer than
            `k_best` only if there are no more. Without `start`.
        constraints: of `solvers.constraints`; score, bound and proof then mean the states that
            satisfy them. For `exhaustive`, `cp_sat`, `highs`, `cplex`; how many variables are 1 for
            `branch_and_bound`, and on trees for `elimination`; `auto` chooses among them. Those
            that a `Conversion` has count too.
        callback: called with a `Progress` (best states so far, scores, bounds, seconds) while a
            search goes on, at most every 0.2 seconds, in the thread of the caller; where it returns
            True the search ends, and the best so far comes back with its bound. What it raises
            comes out of this call. Of several states it hears of the best. Solvers that take no
            time limit never call it, and `stats["callback"]` is "unused".

    Returns:
        The solution, its arrays of the kind and on the device of `unary`; of a `Conversion` what it
        says in the words of the original.

    Raises:
        ProblemError: the arrays do not describe a problem.
        UnknownSolverError: no solver has that name.
        SolverUnavailableError: the solver needs a package that is not installed.
        UnsupportedProblemError: the solver cannot take this problem; `.reasons` says why.
        SolveFailedError: the backend stopped without an answer; within constraints, no state that
            satisfies them was found in time; or a `Conversion` got fewer than `k_best` answers in
            time.
        InfeasibleError: no state satisfies the constraints.
        OptionError: the time limit is not positive; `fix` or `start` does not fit the problem;
            `callback` is no function.
        SolveInterrupted: Ctrl-C stopped a search; it has what was found until then.

    Example:
        >>> solution = solve([1.0, -2.0, 0.5], [[0, 3, -1], [0, 0, 0], [0, 0, 0]])
        >>> solution.z.tolist(), float(solution.score), bool(solution.optimal), solution.solver
        ([1, 1, 0], 2.0, True, 'exhaustive')
    """
    if not isinstance(unary, _CHECKED):
        problem = Problem.from_arrays(unary, pairwise, edges=edges)
    elif pairwise is not None or edges is not None:
        raise ProblemError(
            f"a {type(unary).__name__} has its pairs; pass neither pairwise nor edges"
        )
    elif isinstance(unary, Conversion):
        own = listed(constraints)
        if own and unary.values != (0, 1):
            raise OptionError(
                f"constraints are over 0 and 1, and the variables of this Conversion are {unary.values[0]} and "
                f"{unary.values[1]}: write them for z of its .problem, and solve that"
            )
        all_constraints = [*unary.constraints, *own]
        given = {"solver": solver, "time_limit": time_limit, "constraints": all_constraints}
        return _answer(unary, fix, start, k_best, callback=in_words(unary, callback), **given)
    else:
        problem = unary
    # most calls: of microseconds
    if callback is None and isinstance(constraints, tuple) and not constraints:
        return _in_its_way(problem, None, fix, start, k_best, solver, time_limit)
    rows = Rows.of(constraints, problem.n)
    if callback is None:
        return _in_its_way(problem, rows, fix, start, k_best, solver, time_limit)
    with heard_by(callback, problem, _first(problem, rows, fix, start)):
        return _in_its_way(problem, rows, fix, start, k_best, solver, time_limit)


def _in_its_way(
    problem: Problem,
    rows: Rows | None,
    fix: Any,
    start: Any,
    k_best: int | None,
    solver: str | ArgmaxSolver,
    time_limit: float | None,
) -> Solution:
    """The solution, or several states of it, by what is asked for."""
    if rows is not None and len(rows):
        if k_best is not None:
            return _many_within(problem, rows, fix, start, k_best, solver, time_limit)
        return _within(problem, rows, fix, start, solver, time_limit)
    if k_best is not None:
        return _many(problem, fix, start, k_best, solver, time_limit)
    if fix is not None:
        return _with_fixed(Fixing.of(problem, fix), start, solver=solver, time_limit=time_limit)
    return _solved(problem, start, solver, time_limit)


def _first(problem: Problem, rows: Rows, fix: Fix | None, start: Any) -> States | None:
    """`[batch, n]`: the states of which a callback hears before any is found; None where none is known."""
    states = given_states(start, problem)
    values = (
        np.full((problem.batch, problem.n), -1, np.int8)
        if fix is None
        else Fixing.of(problem, fix).values
    )
    first = np.where(values < 0, 0 if states is None else states, values).astype(np.int8)
    return first if rows.satisfied(first).all() else None


def _answer(
    conversion: Conversion, fix: Any, start: Any, k_best: int | None, **options: Any
) -> Answer | tuple[Answer, ...]:
    if isinstance(fix, Mapping):
        fix = conversion.states(fix)
    if conversion.fixed:
        fix = _with_fixed_ones(conversion, fix)
    if isinstance(start, Mapping):
        states = conversion.states(start)
        if missing := [label for i, label in enumerate(conversion.labels) if i not in states]:
            raise OptionError(
                f"start has no value for {shortened(missing[0])}; it needs all variables"
            )
        start = [states[i] for i in range(conversion.problem.n)]
    found = solve(conversion.problem, fix=fix, start=start, k_best=k_best, **options)
    if k_best is None:
        return conversion.answer(found)
    return tuple(conversion.answer(part) for part in each_found(found))


def _with_fixed_ones(conversion: Conversion, fix: Fix | None) -> Fix:
    """What a caller fixes, and what the conversion does.

    Raises:
        OptionError: they differ.
    """
    if fix is None or isinstance(fix, Mapping):
        return {**(fix or {}), **conversion.fixed}
    values: np.ndarray = Fixing.of(conversion.problem, fix).values[0].copy()
    for place, state in conversion.fixed.items():
        if values[place] not in (state, -1):
            label = shortened(conversion.labels[place])
            raise OptionError(f"fix gives {label} the value {values[place]}; it is {state}")
        values[place] = state
    return values


def _solved(
    problem: Problem, start: Any, solver: str | ArgmaxSolver, time_limit: float | None
) -> Solution:
    """The solution of all of a problem."""
    begin = 0.0 if time_limit is None else now()
    chosen = _chosen(solver, problem, time_limit)
    states = None if start is None else given_states(start, problem)
    takes_start = states is not None and "start" in chosen.options()
    if takes_start:
        chosen = chosen.with_options(start=start)
    try:
        found = chosen.solve(problem, None if time_limit is None else _less(time_limit, begin))
    except UnsupportedProblemError as error:
        raise with_alternatives(error, BINARY.able(problem)) from error.__cause__
    except SolveInterrupted as stopped:
        raise SolveInterrupted(_at_least(problem, stopped.solution, states, takes_start)) from None
    if states is not None:
        found = _at_least(problem, found, states, takes_start)
    return with_word(found, chosen)


def _chosen(solver: str | ArgmaxSolver, problem: Problem, time_limit: float | None) -> ArgmaxSolver:
    """Return the solver that `solver` means, chosen within a share of the time limit."""
    if time_limit is None and problem.n <= ENUMERABLE:  # most calls: of microseconds
        return resolve(solver, problem)
    with preparing(deadline_of(time_limit)), kernels_hear_keyboard():
        return resolve(solver, problem)


def _chosen_within(
    solver: str | ArgmaxSolver, problem: Problem, rows: Rows, count: int = 1
) -> ArgmaxSolver:
    """Return the solver that `solver` means for a problem with constraints."""
    with kernels_hear_keyboard():
        return named_solver(solver) or select_within(problem, rows, count).solver


def _within(
    problem: Problem,
    rows: Rows,
    fix: Fix | None,
    start: Any,
    solver: str | ArgmaxSolver,
    limit: float | None,
) -> Solution:
    """The solution among the states that satisfy constraints; fixed variables are constraints too."""
    begin = now()
    rows = _with_values(problem, rows, fix)
    states = given_states(start, problem)
    chosen = _chosen_within(solver, problem, rows)
    takes_start = states is not None and "start" in chosen.options()
    if takes_start:
        chosen = chosen.with_options(start=start)
    allowed = None if states is None else rows.satisfied(states)
    try:
        found = chosen.solve_within(problem, rows, _less(limit, begin))
    except SolveInterrupted as stopped:
        stop = _at_least(problem, stopped.solution, states, takes_start, allowed)
        raise SolveInterrupted(stop) from None
    return with_word(_at_least(problem, found, states, takes_start, allowed), chosen)


def _with_values(problem: Problem, rows: Rows, fix: Fix | None) -> Rows:
    """Constraints, and that variables keep their values."""
    if fix is None:
        return rows
    values = Fixing.of(problem, fix).values
    if (values != values[0]).any():
        raise OptionError("with constraints, fix must give the same values in every instance")
    return rows.with_values(values[0])


def _many_within(
    problem: Problem,
    rows: Rows,
    fix: Fix | None,
    start: Any,
    count: int,
    solver: str | ArgmaxSolver,
    limit: float | None,
) -> Solution:
    """The states of highest score among those that satisfy constraints."""
    _refuse_start(start)
    rows = _with_values(problem, rows, fix)
    chosen = _chosen_within(solver, problem, rows, count)
    return k_best_within(problem, rows, count, chosen, seconds_of(limit))


def _refuse_start(start: Any) -> None:
    if start is not None:
        raise OptionError("k_best and start do not go together: many states have no start")


def _many(
    problem: Problem,
    fix: Fix | None,
    start: Any,
    count: int,
    solver: str | ArgmaxSolver,
    limit: float | None,
) -> Solution:
    """The states of highest score."""
    _refuse_start(start)
    check_count(count, problem)
    fixing = Fixing.of(problem, fix)
    with naming_alternatives(problem):
        named = named_solver(solver)
        return best_of_many(
            fixing,
            count,
            lambda part: named or select_solver(part).solver,
            lambda part: named or select_ranking(part).solver,
            seconds_of(limit),
        )


def _with_fixed(fixing: Fixing, start: Any, **options: Any) -> Solution:
    """The solution of a problem some of whose variables keep their values."""
    given = given_states(start, fixing.problem)
    if fixing.rest is None:
        named_solver(options["solver"])
        seconds_of(options["time_limit"])
        return fixing.lifted(None)
    if given is not None:
        free = fixing.free(given)
        given = free.reshape(*fixing.problem.leading, free.shape[1])
    try:
        with heard_of(fixing.rest, fixing.known):
            return fixing.lifted(solve(fixing.rest, start=given, **options))
    except SolveInterrupted as stopped:
        if not stopped.found:
            raise
        raise SolveInterrupted(fixing.lifted(stopped.solution)) from None


def _at_least(
    problem: Problem,
    found: Solution,
    states: States | None,
    takes_start: bool,
    allowed: np.ndarray | None = None,
) -> Solution:
    """Return a solution that is no worse than the states to start from, which says whether they were of use.

    Args:
        problem: what was solved.
        found: the solution.
        states: `[batch, n]`, to start from; None for none.
        takes_start: whether the solver used them.
        allowed: `[batch]`, which of them satisfy constraints; None for all.
    """
    if states is None:
        return found
    found = replace(found, stats={**found.stats, "start": "used" if takes_start else "unused"})
    if bool(to_numpy(found.optimal).all()):
        return found
    host = problem.to_host()
    z, score = (
        to_numpy(found.z).reshape(problem.batch, problem.n),
        to_numpy(found.score).reshape(-1),
    )
    given = score_states(host, states)
    better = (given > score) & ~to_numpy(found.optimal).reshape(-1)
    if allowed is not None:
        better &= allowed
    if not better.any():
        return found
    score = np.where(better, given, score)
    bound = np.maximum(score, to_numpy(found.bound).reshape(-1))
    return replace(
        found,
        z=host.restore(np.where(better[:, None], states, z)),
        score=host.restore(score),
        bound=host.restore(bound),
    )


def _less(time_limit: Any, begin: float) -> Any:
    """What is left of a time limit, at least a thousandth of it; one that is none stays as it is, to be refused."""
    if isinstance(time_limit, float | int) and 0 < time_limit < 1e9:
        return max(time_limit - (now() - begin), 1e-3 * time_limit)
    return time_limit
