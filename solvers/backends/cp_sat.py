"""Solve any pairwise problem on integer scores with OR-Tools CP-SAT."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from ..algorithms.constrained_search.groups import Groups
from ..algorithms.constrained_search.linear_rows import FREE, Constraints, LinearRows
from ..algorithms.local_search.warm_start import best_state, first_state, without_model
from ..algorithms.precision.fixed_point import FixedPoint
from ..algorithms.presolve.constrained import SolveWithin, each_instance
from ..algorithms.presolve.model_building import (
    NoTimeToBuildError,
    pairs_in_time,
    rows_in_time,
    time_to_build,
)
from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.presolve.penalties import by_penalties
from ..constraint_rows import Rows
from ..errors import InfeasibleError, SolveFailedError
from ..limits.deadline import Deadline, uncounted
from ..limits.interrupts import ended
from ..limits.progress import Known
from ..options import MOST_THREADS, check_whole
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

DENSE_LEVEL = 2
"""Linearization level of most problems: on dense ones three times faster than 1."""

LARGE = 2**30
"""Coefficient of a constraint from which on CP-SAT searches without presolve.

With coefficients above about 2^31, version 9.15 reports states as optimal that are not. This
happened in 1 of 100 random models of 6 bits and 3 constraints. Without presolve, it solved all of
3,600 such models."""

CROSSED_LEVEL = 1
"""Linearization level where groups cross, as the rows and columns of an assignment do.

At level 2 cuts from such groups take most of the time."""


@dataclass(frozen=True)
class CpSat(ArgmaxSolver):
    """Exact solver of any pairwise problem, by clause learning on integer scores (`FixedPoint`).

    A product z_i z_j is a Boolean variable, tied to z_i and z_j on the side that the sign of its
    score needs.

    Attributes:
        threads: search workers for one instance.
        start: initial assignments `[..., n]`, which broadcast to the batch; None to start from the
            solution of `local_search`.
    """

    threads: int = 1
    start: Any = field(default=None, compare=False)

    name = "cp_sat"
    capabilities = Capabilities(
        exact=True,
        time_limit=True,
        constraints=2**54,
        packages=("ortools",),
        install="pip install ortools",
    )

    def __post_init__(self) -> None:
        check_whole("threads", self.threads, 1, MOST_THREADS)

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        solve_one = by_penalties(self._solve, self._within)
        return one_by_one(problem, deadline, solve_one, start=given_states(self.start, problem))

    def _within(self, constraints: Constraints) -> SolveWithin:
        return partial(self._solve_within, constraints=Rows.like(constraints))

    def _argmax_within(self, problem: Problem, constraints: Rows, deadline: Deadline) -> Maximiser:
        solve_one = partial(self._solve_within, constraints=constraints)
        start = given_states(self.start, problem)
        return each_instance(problem, constraints, deadline, solve_one, start)

    def _solve_within(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None, constraints: Rows
    ) -> tuple[np.ndarray | None, float]:
        with uncounted():
            from ortools.sat.python import cp_model  # slow to import

        try:
            scores = FixedPoint.of(problem)
            model, variables = _model(cp_model, scores, start, deadline)
            for terms, low, high in rows_in_time(constraints.terms(), deadline):
                _constrain(cp_model, model, variables, terms, low, high)
        except NoTimeToBuildError:
            return None, math.inf
        heard = _Heard(scores, variables)
        rows = LinearRows.of(constraints)
        crossed = Groups.of(rows, np.full(problem.n, FREE)).member.sum(axis=0).max(initial=0) > 1
        level = DENSE_LEVEL
        if crossed:
            level = CROSSED_LEVEL
        options = {
            "linearization_level": level,
            "cp_model_presolve": bool(np.abs(constraints.matrix).max(initial=0) < LARGE),
        }
        answers = (cp_model.INFEASIBLE,)
        solver, status = self._searched(cp_model, model, deadline, heard, options, answers)
        if status == cp_model.INFEASIBLE:
            raise InfeasibleError(constraints.names)
        if status == cp_model.UNKNOWN:
            return None, math.inf
        state = np.array([solver.boolean_value(variable) for variable in variables], np.int8)
        return state, float(scores.bound(_whole_above(solver.best_objective_bound))[0])

    def _searched(
        self,
        cp_model: Any,
        model: Any,
        deadline: Deadline,
        heard: _Heard,
        options: Mapping[str, Any],
        answers: tuple[Any, ...] = (),
    ) -> tuple[Any, Any]:
        """Search and return the solver and its status; raise if that is an error."""
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = int(self.threads)
        for name, value in options.items():
            setattr(solver.parameters, name, value)
        solver.parameters.catch_sigint_signal = False  # it would report an expired time limit
        if deadline.seconds is not None:
            solver.parameters.max_time_in_seconds = deadline.seconds
        listener = None
        if deadline.watch is not None:
            listener = heard.listener(cp_model, solver)
        statuses: list[Any] = []
        with deadline.alarm(solver.stop_search, heard.known):
            over = ended(
                lambda: statuses.append(solver.solve(model, listener)), lambda: deadline.interrupted
            )
        if not over:
            return solver, cp_model.UNKNOWN  # it is still presolving a large model
        (status,) = statuses
        # CP-SAT may stop a little before its time limit.
        limited = deadline.passed or deadline.seconds is not None
        expected = (cp_model.OPTIMAL, cp_model.FEASIBLE, *answers)
        if status not in expected and not (status == cp_model.UNKNOWN and limited):
            raise SolveFailedError(
                f"CP-SAT stopped with status {solver.status_name(status)}: "
                f"{model.validate() or solver.solution_info()}"
            )
        return solver, status

    def _solve(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        if not time_to_build(problem.pairwise, deadline):
            return without_model(problem, start, deadline), math.inf
        with uncounted():
            from ortools.sat.python import cp_model  # slow to import

        state = first_state(problem, start, deadline)
        try:
            scores = FixedPoint.of(problem)
            model, variables = _model(cp_model, scores, state, deadline)
        except NoTimeToBuildError:
            return without_model(problem, state, deadline), math.inf
        heard = _Heard(scores, variables, state)
        options = {"linearization_level": DENSE_LEVEL}
        solver, status = self._searched(cp_model, model, deadline, heard, options)
        if status == cp_model.UNKNOWN:
            return state, math.inf  # CP-SAT then reports 0, which is not a bound
        solution = np.array([solver.boolean_value(variable) for variable in variables], np.int8)
        state = best_state(problem, solution, state)
        return state, float(scores.bound(_whole_above(solver.best_objective_bound))[0])


@dataclass(eq=False)
class _Heard:
    """The latest state and bound that CP-SAT reported during its search.

    Attributes:
        scores: the integer scores of the instance.
        variables: the variables z_i of the model.
        state: `[n]`, the latest state; None before the first.
        bound: the bound as CP-SAT reports it.
    """

    scores: FixedPoint
    variables: list[Any]
    state: np.ndarray | None = None
    bound: float = math.inf

    def listener(self, cp_model: Any, solver: Any) -> Any:
        """Return a callback for states, and let `solver` report its bounds here."""
        heard = self

        # The class is made here since its base belongs to an optional package.
        class Listener(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                heard.state = np.array([self.boolean_value(z) for z in heard.variables], np.int8)

        def hear(bound: float) -> None:
            heard.bound = bound

        solver.best_bound_callback = hear
        return Listener()

    def known(self) -> Known:
        """Return the latest state and bound."""
        if math.isinf(self.bound):
            bound = None
        else:
            bound = self.scores.bound(_whole_above(self.bound))
        state = None
        if self.state is not None:
            state = self.state[None]
        return Known(state, bound)


def _whole_above(reported: float) -> np.ndarray:
    """Return the integer bound `[1]`; CP-SAT reports the float64 that is nearest to it."""
    if abs(reported) < 2**53:
        return np.array([math.floor(reported)])
    return np.array([math.nextafter(reported, math.inf)])


def _model(
    cp_model: Any, scores: FixedPoint, state: np.ndarray | None, deadline: Deadline
) -> tuple[Any, list[Any]]:
    """Return the model, with `state` as a hint if there is one, and its variables z_i."""
    model = cp_model.CpModel()
    variables = [model.new_bool_var("") for _ in range(scores.unary.shape[1])]
    values = []
    if state is not None:
        values = state.tolist()
    for variable, value in zip(variables, values, strict=False):
        model.add_hint(variable, bool(value))
    terms = list(variables)
    weights = scores.unary[0].tolist()
    for i, j, weight in pairs_in_time(scores.edges, scores.pairwise[0], deadline):
        both = model.new_bool_var("")
        if values:
            model.add_hint(both, bool(values[i] and values[j]))
        # Maximising does half of z_i z_j = both: a positive weight only needs an upper limit, a
        # negative one only a lower limit.
        if weight > 0:
            model.add_implication(both, variables[i])
            model.add_implication(both, variables[j])
        else:
            model.add_bool_or(~variables[i], ~variables[j], both)
        terms.append(both)
        weights.append(weight)
    model.maximize(cp_model.LinearExpr.weighted_sum(terms, weights))
    return model, variables


def _constrain(
    cp_model: Any,
    model: Any,
    variables: list[Any],
    terms: list[tuple[int, int]],
    low: int,
    high: int,
) -> None:
    """Add low <= sum of weight * z_i <= high, as a special constraint if possible."""
    literals = [variables[i] for i, _ in terms]
    weights = [weight for _, weight in terms]
    if set(weights) == {1} and _constrain_count(model, literals, low, high):
        return
    if sorted(weights) == [-1, 1] and low <= -1 and high == 0:
        model.add_implication(literals[weights.index(1)], literals[weights.index(-1)])
        return
    total = cp_model.LinearExpr.weighted_sum(literals, weights)
    model.add_linear_constraint(total, low, high)


def _constrain_count(model: Any, literals: list[Any], low: int, high: int) -> bool:
    """Bound the number of true literals; return False if no special constraint expresses it."""
    if low == 1 and high == 1:
        model.add_exactly_one(literals)
    elif low <= 0 and high == 1:
        model.add_at_most_one(literals)
    elif low == 1 and high >= len(literals):
        model.add_bool_or(literals)
    else:
        return False
    return True
