"""`solve_labels`: pass arrays of label problems to the common front end."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np
from typing_extensions import Unpack

from ..arrays import ArrayLike, ArrayOf, ArrayT
from ..constraints import Constraint
from ..conversions import Answer, AnyConversion
from ..errors import ProblemError
from ..graph_breaks import between_graphs
from ..limits.deadline import Deadline
from ..problems.any_problem import AnyProblem
from ..registry import LABELS, SolverInfo
from ..solution import Solution
from ..solving.call import Options, Solver
from ..solving.call import solve as solve_any
from ..solving.listening import Callback
from .problem import LabelProblem
from .solver import LabelSolver

_CHECKED = (AnyProblem, AnyConversion)


@overload
def solve_labels(
    unary: AnyConversion[Any], *, k_best: None = None, **options: Unpack[Options]
) -> Answer: ...
@overload
def solve_labels(
    unary: AnyConversion[Any], *, k_best: int, **options: Unpack[Options]
) -> tuple[Answer, ...]: ...
@overload
def solve_labels(
    unary: AnyProblem[ArrayT], *, k_best: int | None = None, **options: Unpack[Options]
) -> Solution[ArrayT]: ...
@overload
def solve_labels(
    unary: ArrayLike,
    pairwise: ArrayLike | None = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    k_best: int | None = None,
    **options: Unpack[Options],
) -> Solution[np.ndarray]: ...
@overload
def solve_labels(
    unary: ArrayOf[ArrayT],
    pairwise: ArrayOf[ArrayT] | None = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    k_best: int | None = None,
    **options: Unpack[Options],
) -> Solution[ArrayT]: ...
@between_graphs
def solve_labels(
    unary: Any,
    pairwise: Any = None,
    *,
    edges: Any = None,
    sizes: Any = None,
    potts: Any = None,
    solver: Solver = "auto",
    time_limit: float | Deadline | None = None,
    fix: Any = None,
    start: Any = None,
    k_best: int | None = None,
    constraints: Iterable[Constraint] = (),
    callback: Callback | None = None,
) -> Solution | Answer | tuple[Answer, ...]:
    """Return the labels of highest score for each problem of a batch.

    The problems are pairwise, over variables of several values:

    score(x) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j],  x_i in {0, ..., sizes[i]
    - 1}

    Args:
        unary: `[..., n, k]`, the score of each value of each variable; numpy, torch (host or
            device), any array of the array API standard, or lists; or a `LabelProblem` or a
            `LabelConversion` alone. Minus infinity forbids a value.
        pairwise: None; `[..., e, k, k]`, rows being values of an edge's first variable; or `[k, k]`
            for all edges. Minus infinity forbids a pair of values.
        edges: `[e, 2]` or `[2, e]`, the pairs, shared by the batch.
        sizes: `[n]`, the number of values of each variable, if some have fewer than k.
        potts: in place of `pairwise`, the score of equal values: a number, or `[..., e]`.
        solver: a name of `solvers.available_solvers("labels")`, or of
            `solvers.available_solvers()`, which then gets the labels encoded as bits; a solver
            object; or "auto" (`select_solver`).
        time_limit: seconds for the whole batch, for solvers that can stop early; or a `Deadline`.
        fix: variables that keep a value: {i: value}, or `[n]` or `[..., n]` with -1 for a free one.
            Instances may fix different variables. For a `LabelConversion`, the keys and values are
            its names.
        start: initial labels `[..., n]`; for a `LabelConversion`, {name: value}. The answer is
            never worse than allowed initial labels. If the solver cannot use them, `stats["start"]`
            is "unused". Cannot be combined with `k_best`.
        k_best: number of assignments to return, in falling order of their scores; None for only the
            best.
        constraints: constraints made by `solvers.constraints` over (variable, value), which is 1 if
            the variable has the value: `one_of([(0, 2), (1, 2)])`. Score, bound and certificate
            then refer to the assignments that satisfy them. Solvers of the labels' bits take
            constraints: "auto", "bits", and `cp_sat`, `highs`, `cplex` or `exhaustive` by name.
        callback: called with a `Progress` (best labels so far, scores, bounds, seconds) during a
            search, as by `solvers.solve`. If it returns True, the search ends. Solvers that take no
            time limit never call it, and `stats["callback"]` is "unused".

    Returns:
        The solution: `labels [..., n]`, int64, of the kind and on the device of `unary`; `score`,
        re-computed; `bound`; and `optimal`, which is True only if it is proved that no assignment
        scores more. A `LabelConversion` gives an `Answer` with the names and values of the
        original.

        With `k_best=m`, the arrays have one more dimension m behind the leading ones.
        `bound[..., j]` is an upper bound on the scores of all assignments except the first j.
        `optimal[..., j]` says whether it is proved that none of them scores more than assignment j.
        A row without an assignment holds -1, and its score is minus infinity. If its bound is minus
        infinity too, no more assignments exist; otherwise the time limit passed. A
        `LabelConversion` gives a tuple of answers, which has fewer than `k_best` entries only if no
        more exist.

    Raises:
        ProblemError: the arrays do not describe a problem.
        UnknownSolverError: no solver has that name.
        SolverUnavailableError: the solver needs a package that is not installed.
        UnsupportedProblemError: the solver cannot take this problem; `.reasons` says why, and
            `.alternatives` names solvers that can.
        InfeasibleError: every assignment is forbidden, or none satisfies the constraints.
        SolveFailedError: the backend stopped without an answer, or with fewer than `k_best` answers
            to a `LabelConversion`.
        OptionError: the time limit is not positive; `fix`, `start` or a constraint does not fit the
            problem; `callback` is no function.
        SolveInterrupted: Ctrl-C stopped a search; the exception has the incumbent.

    Example:
        >>> chain = [[0, 1], [1, 2]]
        >>> scores = [[2.0, 0.0, 0.0], [0.0, 0.5, 0.4], [0.0, 0.0, 2.0]]
        >>> solution = solve(scores, potts=0.3, edges=chain)
        >>> solution.labels.tolist(), solution.score, solution.optimal, solution.solver
        ([0, 2, 2], 4.7, True, 'elimination')
    """
    if not isinstance(unary, _CHECKED):
        unary = LabelProblem.from_arrays(unary, pairwise, edges=edges, sizes=sizes, potts=potts)
    elif any(array is not None for array in (pairwise, edges, sizes, potts)):
        raise ProblemError(f"a {type(unary).__name__} has its pairs and sizes; pass it alone")
    return solve_any(
        unary,
        solver=solver,
        time_limit=time_limit,
        fix=fix,
        start=start,
        k_best=k_best,
        constraints=constraints,
        callback=callback,
    )


solve = solve_labels


def solver_class(name: str) -> type[LabelSolver]:
    """Return the label solver class registered under `name`; `solvers.solver_class` does so too.

    Raises:
        UnknownSolverError: no label solver has that name; the message suggests similar names.
        SolverUnavailableError: a plug-in of that name cannot be imported.

    Example:
        >>> solver_class("elimination").capabilities.exact
        True
    """
    return LABELS.solver_class(name)


def available_solvers() -> tuple[SolverInfo, ...]:
    """List every label solver that has a name, as `solvers.available_solvers("labels")` does.

    Example:
        >>> [info.name for info in available_solvers()][:3]
        ['independent', 'exhaustive', 'elimination']
    """
    return LABELS.available()
