"""`solve` for labels: what a caller gives, the solver that takes it, and the answer."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from contextlib import AbstractContextManager
from typing import Any, overload

import numpy as np

from ..arrays import ArrayLike, ArrayOf, ArrayT
from ..conversions.answer import Answer
from ..errors import ProblemError
from ..limits.deadline import Deadline, preparing
from ..limits.interrupts import kernels_hear_keyboard
from ..ranking import each_found
from ..solution import Solution
from ..solver import ArgmaxSolver, seconds_of
from ..solving.listening import Callback, heard_from, in_words, nothing_known, with_word
from ..solving.selection import naming_alternatives
from .conversions import LabelConversion
from .fixing import with_values
from .k_best import k_best as best_of_many
from .problem import LabelProblem
from .registry import LABELS
from .selection import resolve
from .solver import LabelSolver


@overload
def solve(
    unary: LabelProblem[ArrayT],
    *,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Mapping[int, int] | ArrayLike | None = None,
    k_best: int | None = None,
    callback: Callback | None = None,
) -> Solution[ArrayT]: ...


@overload
def solve(
    unary: LabelConversion,
    *,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Mapping[Hashable, Hashable] | None = None,
    k_best: None = None,
    callback: Callback | None = None,
) -> Answer: ...


@overload
def solve(
    unary: LabelConversion,
    *,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Mapping[Hashable, Hashable] | None = None,
    k_best: int,
    callback: Callback | None = None,
) -> tuple[Answer, ...]: ...


@overload
def solve(
    unary: ArrayLike,
    pairwise: ArrayLike | None = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Mapping[int, int] | ArrayLike | None = None,
    k_best: int | None = None,
    callback: Callback | None = None,
) -> Solution[np.ndarray]: ...


@overload
def solve(
    unary: ArrayOf[ArrayT],
    pairwise: ArrayOf[ArrayT] | None = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Mapping[int, int] | ArrayLike | None = None,
    k_best: int | None = None,
    callback: Callback | None = None,
) -> Solution[ArrayT]: ...


def solve(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    solver: str | LabelSolver | ArgmaxSolver = "auto",
    time_limit: float | None = None,
    fix: Any = None,
    k_best: int | None = None,
    callback: Callback | None = None,
) -> Solution | Answer | tuple[Answer, ...]:
    """The labels of highest score, for a batch of pairwise problems over variables of several values.

    score(x) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j],  x_i in {0, ..., sizes[i]
    - 1}

    Args:
        unary: `[..., n, k]`, the score of each value of each variable; numpy, torch (host or
            device), any array of the array API standard, or lists; or a `LabelProblem` or a
            `LabelConversion` alone. Minus infinity forbids a value.
        pairwise: None; `[..., e, k, k]`, rows being values of an edge's first variable; or `[k, k]`
            for all edges. Minus infinity forbids two values together.
        edges: `[e, 2]` or `[2, e]`, the pairs, shared by the batch.
        sizes: `[n]`, where variables have fewer values than k.
        potts: in place of `pairwise`, the score of equal values: a number, or `[..., e]`.
        solver: a name of `solvers.labels.available_solvers()`, or of `solvers.available_solvers()`,
            which then gets the labels as bits; a solver object; or "auto" (`select_solver`).
        time_limit: seconds for the whole batch, for solvers that can stop early.
        fix: variables that keep a value: {i: value}, or `[n]` or `[..., n]` with -1 for a free one;
            by the names of a `LabelConversion`.
        k_best: how many of the best assignments to give, in falling order of their scores; None for
            the best alone.
        callback: called with a `Progress` (best labels so far, scores, bounds, seconds) while a
            search goes on, as `solvers.solve` does; where it returns True the search ends. Solvers
            that take no time limit never call it, and `stats["callback"]` is "unused".

    Returns:
        The solution: `labels [..., n]`, int64, of the kind and on the device of `unary`; `score`,
        re-computed; `bound`; and `optimal`, True only where it is proved that no assignment scores
        more. Of a `LabelConversion` an `Answer`, in the words of the original. With `k_best=m` the
        arrays have one more dimension m behind the leading ones: `bound[..., j]` is one on all
        assignments but the first j, and `optimal[..., j]` whether none of these scores more than
        assignment j; of a `LabelConversion` a tuple of answers. Rows without an assignment hold -1
        with a score of minus infinity: if their bound is minus infinity too, there are no more
        assignments; else the time was up. The answers of a `LabelConversion` are fewer than
        `k_best` only if there are no more.

    Raises:
        ProblemError: the arrays do not describe a problem.
        UnknownSolverError: no solver has that name.
        SolverUnavailableError: the solver needs a package that is not installed.
        UnsupportedProblemError: the solver cannot take this problem; `.reasons` says why, and
            `.alternatives` which others can.
        InfeasibleError: every assignment is forbidden.
        SolveFailedError: the backend stopped without an answer, or with fewer than `k_best` answers
            to a `LabelConversion`.
        OptionError: the time limit is not positive; `fix` does not fit the problem; `callback` is
            no function.
        SolveInterrupted: Ctrl-C stopped a search; it has what was found until then.

    Example:
        >>> chain = [[0, 1], [1, 2]]
        >>> solution = solve([[2.0, 0.0, 0.0], [0.0, 0.5, 0.4], [0.0, 0.0, 2.0]], potts=0.3, edges=chain)
        >>> solution.labels.tolist(), float(solution.score), bool(solution.optimal), solution.solver
        ([0, 2, 2], 4.7, True, 'elimination')
    """
    if isinstance(unary, LabelConversion):
        _check_alone(pairwise, edges, sizes, potts)
        fix = None if fix is None else unary.labels(fix)
        heard = in_words(unary, callback)
        found = solve(
            unary.problem,
            solver=solver,
            time_limit=time_limit,
            fix=fix,
            k_best=k_best,
            callback=heard,
        )
        return unary.answer(found) if k_best is None else _answers(unary, found)
    if not isinstance(unary, LabelProblem):
        problem = LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes, potts=potts)
    else:
        _check_alone(pairwise, edges, sizes, potts)
        problem = unary
    if fix is not None:
        problem = with_values(problem, fix)
    if callback is None:
        return _solved(problem, solver, time_limit, k_best)
    with _heard_by(callback, problem):
        return _solved(problem, solver, time_limit, k_best)


def _solved(
    problem: LabelProblem,
    solver: str | LabelSolver | ArgmaxSolver,
    time_limit: float | None,
    k_best: int | None,
) -> Solution:
    seconds = seconds_of(time_limit)
    deadline = Deadline.after(seconds)

    def choose(part: LabelProblem) -> LabelSolver:
        with preparing(deadline), kernels_hear_keyboard():
            return resolve(solver, part)

    with naming_alternatives(problem, LABELS):
        if k_best is not None:
            return best_of_many(problem, k_best, choose, seconds)
        chosen = choose(problem)
        return with_word(chosen.solve(problem, deadline), chosen)


def _heard_by(callback: Callback, problem: LabelProblem) -> AbstractContextManager[None]:
    """Inside it, searches tell a callback what they know of a problem."""
    host = problem.to_host()

    def score(z: np.ndarray, part: slice) -> np.ndarray:
        return np.asarray((host if part == slice(None) else host.instances(part)).score_flat(z))

    return heard_from(
        callback, problem, score, nothing_known(problem, np.int64, np.asarray(host.magnitude))
    )


def _answers(conversion: LabelConversion, found: Solution[np.ndarray]) -> tuple[Answer, ...]:
    return tuple(conversion.answer(part) for part in each_found(found))


def _check_alone(*others: Any) -> None:
    if any(part is not None for part in others):
        raise ProblemError(
            "a LabelProblem or a LabelConversion has its pairs and sizes; pass it alone"
        )
