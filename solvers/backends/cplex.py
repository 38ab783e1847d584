"""Solve any pairwise problem with IBM CPLEX, through docplex."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import numpy as np

from ..algorithms.constrained_search.linear_rows import Constraints
from ..algorithms.local_search.warm_start import best_state, first_state, without_model
from ..algorithms.precision.floating_point import TOLERANCE, FloatingPoint
from ..algorithms.presolve.constrained import MOST_WHOLE, SolveWithin, each_instance
from ..algorithms.presolve.model_building import (
    NoTimeToBuildError,
    pairs_in_time,
    rows_in_time,
    time_to_build,
)
from ..algorithms.presolve.one_by_one import SPARSE_DEGREE, one_by_one
from ..algorithms.presolve.penalties import by_penalties
from ..constraint_rows import Rows
from ..errors import InfeasibleError, SolveFailedError
from ..limits.deadline import Deadline, uncounted
from ..limits.interrupts import interrupt_solves
from ..limits.progress import Known
from ..options import MOST_THREADS, check_whole
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

INFEASIBLE = (103, 119)
"""Status codes of CPLEX: no state satisfies the constraints."""

OPTIMAL = (101, 102)
"""Status codes of CPLEX: proved optimal within the gaps."""

COMMUNITY = 1000
"""Maximum number of variables, and of constraints, of the community edition."""

TOO_LARGE = "CPLEX Error  1016"
"""Message of the community edition about a larger model."""

WHAT_TO_DO = "leave out solver=, name another solver, or install CPLEX with a licence"
"""End of the message about a model that the community edition does not take."""

TIME_LIMIT = (107, 108)
"""Status codes of CPLEX: the time limit ended the search."""

INTERRUPTED = (113, 114)
"""Status codes of CPLEX: we stopped the search."""


@dataclass(frozen=True)
class Cplex(ArgmaxSolver):
    """Exact solver of any pairwise problem, by branch and cut in floating point.

    `bound` is CPLEX's bound with its tolerances added (`FloatingPoint`), and `optimal` follows from
    it. The community edition takes up to 1,000 variables and 1,000 constraints.

    Attributes:
        threads: threads for one instance.
        start: initial assignments `[..., n]`, which broadcast to the batch; None to start from the
            solution of `local_search`.
    """

    threads: int = 1
    start: Any = field(default=None, compare=False)

    name = "cplex"
    capabilities = Capabilities(
        exact=True,
        time_limit=True,
        constraints=MOST_WHOLE,
        packages=("docplex", "cplex"),
        install="pip install 'structured-vae[cplex]'",
    )

    def __post_init__(self) -> None:
        check_whole("threads", self.threads, 1, MOST_THREADS)

    def why_not(self, problem: Problem) -> tuple[str, ...]:
        """Return why CPLEX cannot take a problem: presolve leaves more than the edition allows.

        A sparse problem of any size is tried, as presolve may leave few of its variables.
        """
        reasons = super().why_not(problem)
        is_dense = 2 * problem.e > SPARSE_DEGREE * problem.n
        if is_dense and problem.n > COMMUNITY and self._is_community():
            reasons = (*reasons, _why_too_large(problem.n, 0))
        return reasons

    def why_not_within(self, problem: Problem, constraints: Rows) -> str | None:
        """Return why CPLEX cannot take constraints: the community edition takes fewer."""
        if reason := super().why_not_within(problem, constraints):
            return reason
        rows = int(sum(side.sum() for side in _sides(constraints)))
        if max(problem.n, rows) > COMMUNITY and self._is_community():
            return _why_too_large(problem.n, rows)
        return None

    def _is_community(self) -> bool:
        """Return whether the installed edition is limited; False without an installation."""
        return not self.missing_packages() and _refuses_large_models()

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        solve_one = by_penalties(self._solve, self._within, COMMUNITY)
        return one_by_one(problem, deadline, solve_one, start=given_states(self.start, problem))

    def _within(self, constraints: Constraints) -> SolveWithin:
        return partial(self._solve_within, constraints=Rows.like(constraints))

    def _solve(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        if not time_to_build(problem.pairwise, deadline):
            return without_model(problem, start, deadline), math.inf
        state = first_state(problem, start, deadline)
        try:
            scores = FloatingPoint.of(problem)
            built = _model(problem, scores, deadline)
        except NoTimeToBuildError:
            return without_model(problem, state, deadline), math.inf
        with built as model:
            variables = list(model.iter_binary_vars())[: problem.n]
            model.add_mip_start(
                model.new_solution(dict(zip(variables, state.tolist(), strict=True)))
            )
            solution = self._searched(model, problem, _Heard(scores, variables, state), deadline)
            _check_status(model.solve_details)
            if solution is None:
                return state, math.inf
            values = np.rint(solution.get_value_list(variables)).astype(np.int8)
            bound = scores.bound(float(model.solve_details.best_bound))
            return best_state(problem, values, state), bound

    def _argmax_within(self, problem: Problem, constraints: Rows, deadline: Deadline) -> Maximiser:
        solve_one = partial(self._solve_within, constraints=constraints)
        start = given_states(self.start, problem)
        return each_instance(problem, constraints, deadline, solve_one, start)

    def _solve_within(
        self, problem: Problem, deadline: Deadline, start: np.ndarray | None, constraints: Rows
    ) -> tuple[np.ndarray | None, float]:
        try:
            scores = FloatingPoint.of(problem)
            built = _model(problem, scores, deadline)
        except NoTimeToBuildError:
            return None, math.inf
        with built as model:
            variables = list(model.iter_binary_vars())[: problem.n]
            try:
                sides = zip(*(side.tolist() for side in _sides(constraints)), strict=True)
                terms_in_time = rows_in_time(constraints.terms(), deadline)
                for (terms, low, high), (below, above, equal) in zip(
                    terms_in_time, sides, strict=True
                ):
                    total = model.sum(weight * variables[i] for i, weight in terms)
                    if equal:
                        model.add_constraint(total == low)
                    if below:
                        model.add_constraint(total >= low)
                    if above:
                        model.add_constraint(total <= high)
            except NoTimeToBuildError:
                return None, math.inf
            if start is not None:
                model.add_mip_start(
                    model.new_solution(dict(zip(variables, start.tolist(), strict=True)))
                )
            solution = self._searched(model, problem, _Heard(scores, variables), deadline)
            if model.solve_details.status_code in INFEASIBLE:
                raise InfeasibleError(constraints.names)
            _check_status(model.solve_details)
            if solution is None:
                return None, math.inf
            # Values of binary variables come back within a tolerance of 0 and 1.
            values = np.rint(solution.get_value_list(variables)).astype(np.int8)
            return values, scores.bound(float(model.solve_details.best_bound))

    def _searched(self, model: Any, problem: Problem, heard: _Heard, deadline: Deadline) -> Any:
        """Search, and return CPLEX's solution or None."""
        with uncounted():
            from cplex.aborter import Aborter
            from docplex.mp.utils import DOcplexException

        with Aborter() as aborter:
            try:
                self._set_parameters(model.parameters, heard.scores)
                if deadline.watch is not None:
                    heard.listen(model)
                model.get_cplex().use_aborter(aborter)
                if deadline.seconds is not None:
                    model.parameters.timelimit = deadline.seconds
                with deadline.alarm(aborter.abort, heard.known):
                    solution = model.solve()
            except DOcplexException as error:
                if "code=1016" in str(error):
                    rows = model.number_of_constraints
                    reason = _why_too_large(model.number_of_variables, rows)
                    raise SolveFailedError(f"after presolve, {reason}") from error
                raise SolveFailedError(
                    f"CPLEX refused an instance of n = {problem.n} variables: {error}"
                ) from error
            if model.solve_details.status_code in INTERRUPTED and not deadline.passed:
                interrupt_solves()  # CPLEX took the signal itself
            return solution

    def _set_parameters(self, parameters: Any, scores: FloatingPoint) -> None:
        parameters.threads = int(self.threads)
        parameters.mip.tolerances.mipgap = 0
        parameters.mip.tolerances.absmipgap = scores.gap
        parameters.mip.tolerances.integrality = 0
        parameters.simplex.tolerances.optimality = TOLERANCE
        parameters.simplex.tolerances.feasibility = TOLERANCE
        parameters.barrier.convergetol = 1e-12


@dataclass(eq=False)
class _Heard:
    """The latest state and bound that CPLEX reported during its search.

    Attributes:
        scores: the scores of the instance in floating point.
        variables: the variables z_i of the model.
        state: `[n]`, the latest state; None before the first.
        bound: the bound as CPLEX reports it.
    """

    scores: FloatingPoint
    variables: list[Any]
    state: np.ndarray | None = None
    bound: float = math.inf

    def listen(self, model: Any) -> None:
        """Listen to the search of a model."""
        from docplex.mp.progress import ProgressClock, ProgressListener, SolutionListener

        heard = self

        # The classes are made here since their bases belong to an optional package.
        class Bounds(ProgressListener):  # type: ignore[misc]
            def notify_progress(self, progress_data: Any) -> None:
                heard.bound = float(progress_data.best_bound)

        class States(SolutionListener):  # type: ignore[misc]
            def notify_solution(self, solution: Any) -> None:
                heard.state = np.rint(solution.get_value_list(heard.variables)).astype(np.int8)

        model.add_progress_listener(Bounds())
        model.add_progress_listener(States(ProgressClock.Objective))

    def known(self) -> Known:
        """Return the latest state and bound."""
        if math.isinf(self.bound):
            bound = None
        else:
            bound = np.array([self.scores.bound(self.bound)])
        state = None
        if self.state is not None:
            state = self.state[None]
        return Known(state, bound)


def _check_status(details: Any) -> None:
    """Raise unless CPLEX finished, ran out of time or was stopped by us."""
    if details.status_code not in OPTIMAL + TIME_LIMIT + INTERRUPTED:
        raise SolveFailedError(f"CPLEX stopped with status {details.status_code}: {details.status}")


def _sides(constraints: Rows) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return which rows `[c]` need a lower limit, an upper limit, or are equations.

    Limits that every state satisfies need no row in a model.
    """
    least = np.minimum(constraints.matrix, 0).sum(axis=1)
    most = np.maximum(constraints.matrix, 0).sum(axis=1)
    below = constraints.low > least
    above = constraints.high < most
    equal = below & above & (constraints.low == constraints.high)
    return below & ~equal, above & ~equal, equal


def _why_too_large(variables: int, rows: int) -> str:
    return (
        f"there are {variables:,} variables and {rows:,} constraints, and CPLEX's community edition "
        f"takes {COMMUNITY:,} of either: {WHAT_TO_DO}"
    )


@cache
def _refuses_large_models() -> bool:
    """Return whether the installed CPLEX is the community edition, by a model that is too large."""
    with uncounted():
        from cplex import Cplex as Engine
        from cplex.exceptions import CplexSolverError

        with Engine() as engine:
            for silence in (
                engine.set_log_stream,
                engine.set_results_stream,
                engine.set_error_stream,
                engine.set_warning_stream,
            ):
                silence(None)
            engine.variables.add(obj=[1.0] * (COMMUNITY + 1))
            try:
                engine.solve()
            except CplexSolverError as error:
                return TOO_LARGE in str(error)
    return False


def _model(problem: Problem, scores: FloatingPoint, deadline: Deadline) -> Any:
    with uncounted():
        from docplex.mp.model import Model

    model = Model(checker="off")
    variables = model.binary_var_list(problem.n)
    products = model.sum(
        weight * (variables[i] * variables[j])
        for i, j, weight in pairs_in_time(problem.edges, scores.pairwise, deadline)
    )
    model.maximize(model.scal_prod(variables, scores.unary.tolist()) + products)
    return model
