"""`solve_labels`: arrays of labels for the front end that all kinds share."""

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
            for all edges. Minus infinity forbids two values together.
        edges: `[e, 2]` or `[2, e]`, the pairs, shared by the batch.
        sizes: `[n]`, where variables have fewer values than k.
        potts: in place of `pairwise`, the score of equal values: a number, or `[..., e]`.
        solver: a name of `solvers.labels.available_solvers()`, or of `solvers.available_solvers()`,
            which then gets the labels as bits; a solver object; or "auto" (`select_solver`).
        time_limit: seconds for the whole batch, for solvers that can stop early; or a `Deadline`.
        fix: variables that keep a value: {i: value}, or `[n]` or `[..., n]` with -1 for a free one;
            by the names of a `LabelConversion`.
        start: labels `[..., n]` to begin with; by the names of a `LabelConversion`, {name: value}.
            The answer is never worse, if they are allowed; where the solver has no use for them,
            `stats["start"]` is "unused". Without `k_best`.
        k_best: how many of the best assignments to give, in falling order of their scores; None for
            the best alone.
        constraints: of `solvers.constraints`, over (variable, value), which is 1 where the variable
            has the value: `one_of([(0, 2), (1, 2)])`. Score, bound and proof then mean the
            assignments that satisfy them. Solvers of the labels' bits take them: "auto", "bits",
            and `cp_sat`, `highs`, `cplex` or `exhaustive` by name.
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
        InfeasibleError: every assignment is forbidden, or none satisfies the constraints.
        SolveFailedError: the backend stopped without an answer, or with fewer than `k_best` answers
            to a `LabelConversion`.
        OptionError: the time limit is not positive; `fix`, `start` or a constraint does not fit the
            problem; `callback` is no function.
        SolveInterrupted: Ctrl-C stopped a search; it has what was found until then.

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
        UnknownSolverError: no label solver has that name; the message suggests near ones.
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
