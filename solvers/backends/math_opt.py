"""OR-Tools MathOpt with HiGHS, mixed-integer programming in floating point."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any

import numpy as np

from ..algorithms.local_search.warm_start import best_state, first_state, without_model
from ..algorithms.precision.floating_point import TOLERANCE, FloatingPoint
from ..algorithms.presolve.constrained import MOST_WHOLE, each_instance
from ..algorithms.presolve.model_building import NoTimeToBuildError, pairs_in_time, time_to_build
from ..algorithms.presolve.one_by_one import one_by_one
from ..constraint_rows import Rows
from ..errors import InfeasibleError, SolveFailedError
from ..limits.deadline import Deadline, uncounted
from ..limits.progress import Known
from ..problem import Problem
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities
from ..starts import given_states

FIRST_SECONDS = 0.5
"""Of the first of several searches, where somebody listens."""

TOLERANCES = ("mip_feasibility_tolerance", "primal_feasibility_tolerance", "dual_feasibility_tolerance")


@dataclass(frozen=True)
class MathOpt(ArgmaxSolver):
    """Exact for any pairwise problem, by HiGHS' branch and cut on the linearised problem.

    `bound` is HiGHS' own with its tolerances added (`FloatingPoint`), and `optimal` follows from that.
    HiGHS sets its threads once for a process, so there is no option for them. It does not say what it knows while it
    searches: with `solve(callback=)` it begins again, each time for twice as long, and is stopped in between.

    Attributes:
        start: assignments `[..., n]` to start from, which broadcast to the batch; None for those of
            `local_search`.
    """

    start: Any = field(default=None, compare=False)

    name = "math_opt"
    capabilities = Capabilities(
        exact=True,
        time_limit=True,
        constraints=MOST_WHOLE,
        packages=("ortools",),
        install="pip install ortools",
    )

    def _argmax(self, problem: Problem, time_limit: float | None) -> Maximiser:
        return one_by_one(problem, time_limit, _solve, start=given_states(self.start, problem))

    def _argmax_within(self, problem: Problem, constraints: Rows, time_limit: float | None) -> Maximiser:
        return each_instance(problem, time_limit, partial(_solve_within, constraints=constraints))


def _solve_within(problem: Problem, deadline: Deadline, constraints: Rows) -> tuple[np.ndarray | None, float]:
    with uncounted():
        from ortools.math_opt.python import mathopt  # takes a while to import

    try:
        scores = FloatingPoint.of(problem)
        model, variables, _ = _model(mathopt, problem, scores, np.zeros(problem.n, np.int8), deadline)
    except NoTimeToBuildError:
        return None, math.inf
    for terms, low, high in constraints.terms():
        total = mathopt.fast_sum([weight * variables[i] for i, weight in terms])
        model.add_linear_constraint(lb=low, ub=high, expr=total)
    search = partial(_searched, mathopt, model, problem, scores)
    try:
        return _until(search, problem, mathopt, variables, scores, mathopt.ModelSolveParameters(), deadline)
    except _NoStateError:
        raise InfeasibleError(constraints.names) from None


def _solve(problem: Problem, deadline: Deadline, start: np.ndarray | None) -> tuple[np.ndarray, float]:
    if not time_to_build(problem.pairwise, deadline):
        return without_model(problem, start, deadline), math.inf
    with uncounted():
        from ortools.math_opt.python import mathopt  # takes a while to import

    state = first_state(problem, start, deadline)
    try:
        scores = FloatingPoint.of(problem)
        model, variables, hint = _model(mathopt, problem, scores, state, deadline)
    except NoTimeToBuildError:
        return without_model(problem, state, deadline), math.inf
    hints = mathopt.ModelSolveParameters(solution_hints=[mathopt.SolutionHint(hint)])
    search = partial(_searched, mathopt, model, problem, scores)
    deadline.tell(lambda: Known.of(state))
    values, bound = _until(search, problem, mathopt, variables, scores, hints, deadline)
    return (state if values is None else best_state(problem, values, state)), bound


class _NoStateError(Exception):
    """No state satisfies the constraints."""


def _until(
    search: Callable[..., Any],
    problem: Problem,
    mathopt: Any,
    variables: list[Any],
    scores: FloatingPoint,
    hints: Any,
    deadline: Deadline,
) -> tuple[np.ndarray | None, float]:
    """The best state that HiGHS finds, None for none, and the least bound.

    HiGHS neither says what it knows nor ends at a word. Where somebody listens it therefore begins again and again, for
    twice as long each time and from the best state, and says what it knows in between.
    """
    state, bound = None, math.inf
    seconds = math.inf if deadline.watch is None else FIRST_SECONDS
    while True:
        soon = deadline.within(seconds)
        result = search(hints, soon)
        if result.termination.reason == mathopt.TerminationReason.INFEASIBLE:
            raise _NoStateError
        _check_status(mathopt, result.termination)
        if result.has_primal_feasible_solution():
            found = np.rint(result.variable_values(variables)).astype(np.int8)
            if state is None or _score(problem, found) > _score(
                problem, state
            ):  # the last may have had less time
                state = found
            hint = mathopt.SolutionHint(dict(result.variable_values()))
            hints = mathopt.ModelSolveParameters(solution_hints=[hint])
        bound = min(bound, scores.bound(float(result.termination.objective_bounds.dual_bound)))
        proved = result.termination.reason == mathopt.TerminationReason.OPTIMAL
        if proved or deadline.passed or soon.end == deadline.end:
            return state, bound
        deadline.tell(partial(_known, state, bound))
        seconds *= 2


def _score(problem: Problem, z: np.ndarray) -> float:
    return float(problem.score_flat(z[None])[0])


def _known(state: np.ndarray | None, bound: float) -> Known:
    return Known(None if state is None else state[None], np.array([bound]))


def _searched(
    mathopt: Any, model: Any, problem: Problem, scores: FloatingPoint, hints: Any, deadline: Deadline
) -> Any:
    """What HiGHS says of a model."""
    with uncounted():
        from ortools.util.python.solve_interrupter import SolveInterrupter

    parameters = mathopt.SolveParameters(relative_gap_tolerance=0.0, absolute_gap_tolerance=scores.gap)
    for name in TOLERANCES:
        parameters.highs.double_options[name] = TOLERANCE
    if deadline.seconds is not None:
        parameters.time_limit = timedelta(seconds=deadline.seconds)
    interrupter = SolveInterrupter()
    try:
        with deadline.alarm(interrupter.interrupt):
            return mathopt.solve(
                model,
                mathopt.SolverType.HIGHS,
                params=parameters,
                model_params=hints,
                interrupter=interrupter,
            )
    # OR-Tools 9.15 raises an AttributeError on the way from a status to its RuntimeError.
    except (RuntimeError, AttributeError) as error:
        reason = error.__context__ or error
        raise SolveFailedError(f"HiGHS stopped at an instance of n = {problem.n}: {reason}") from error


def _check_status(mathopt: Any, termination: Any) -> None:
    """Raises unless HiGHS finished or ran out of time."""
    if termination.reason == mathopt.TerminationReason.OPTIMAL:
        return
    if termination.limit not in (mathopt.Limit.TIME, mathopt.Limit.INTERRUPTED):
        raise SolveFailedError(
            f"HiGHS stopped with status {termination.reason.name}: {termination.detail or termination.limit}"
        )


def _model(
    mathopt: Any, problem: Problem, scores: FloatingPoint, state: np.ndarray, deadline: Deadline
) -> tuple[Any, list[Any], dict[Any, float]]:
    """The model, its variables z_i, and the values of all its variables at `state`.

    A product z_i z_j is a variable of its own, tied on the side that the sign of its score needs.
    """
    model = mathopt.Model()
    variables = [model.add_binary_variable() for _ in range(problem.n)]
    terms = [score * z for score, z in zip(scores.unary.tolist(), variables, strict=True)]
    values = dict(zip(variables, state.astype(float).tolist(), strict=True))
    for i, j, weight in pairs_in_time(problem.edges, scores.pairwise, deadline):
        both = model.add_variable(lb=0.0, ub=1.0)
        if weight > 0:
            model.add_linear_constraint(both <= variables[i])
            model.add_linear_constraint(both <= variables[j])
        else:
            model.add_linear_constraint(both >= variables[i] + variables[j] - 1)
        values[both] = float(state[i] * state[j])
        terms.append(weight * both)
    model.maximize(mathopt.fast_sum(terms))
    return model, variables, values
