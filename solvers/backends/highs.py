"""Solve any pairwise problem with HiGHS, by mixed-integer programming in floating point."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn

import numpy as np

from ..algorithms.constrained_search.linear_rows import Constraints
from ..algorithms.local_search.warm_start import best_state, first_state, without_model
from ..algorithms.precision.floating_point import TOLERANCE, FloatingPoint
from ..algorithms.presolve.constrained import MOST_WHOLE, SolveWithin, each_instance
from ..algorithms.presolve.model_building import time_to_build
from ..algorithms.presolve.one_by_one import one_by_one
from ..algorithms.presolve.penalties import by_penalties
from ..constraint_rows import Rows
from ..errors import InfeasibleError, SolveFailedError
from ..limits.deadline import Deadline, uncounted
from ..limits.interrupts import ended
from ..limits.progress import Known
from ..problems.problem import Problem
from ..problems.starts import given_states
from ..solution import Maximiser
from ..solver import ArgmaxSolver, Capabilities

TOLERANCES = (
    "mip_feasibility_tolerance",
    "primal_feasibility_tolerance",
    "dual_feasibility_tolerance",
)
"""Options of HiGHS whose value is `TOLERANCE`."""


@dataclass(frozen=True)
class Highs(ArgmaxSolver):
    """Exact solver of any pairwise problem, by HiGHS' branch and cut on the linearised problem.

    `bound` is HiGHS' bound with its tolerances added (`FloatingPoint`), and `optimal` follows from
    it. HiGHS uses one thread. It sets the number of threads once per process, so there is no option
    for it.

    Attributes:
        start: initial assignments `[..., n]`, which broadcast to the batch; None to start from the
            solution of `local_search`.
    """

    start: Any = field(default=None, compare=False)

    name = "highs"
    capabilities = Capabilities(
        exact=True,
        time_limit=True,
        constraints=MOST_WHOLE,
        packages=("highspy",),
        install="pip install highspy",
    )

    def _argmax(self, problem: Problem, deadline: Deadline) -> Maximiser:
        solve_one = by_penalties(_solve, _within)
        return one_by_one(problem, deadline, solve_one, start=given_states(self.start, problem))

    def _argmax_within(self, problem: Problem, constraints: Rows, deadline: Deadline) -> Maximiser:
        solve_one = partial(_solve_within, constraints=constraints)
        start = given_states(self.start, problem)
        return each_instance(problem, constraints, deadline, solve_one, start)


def _within(constraints: Constraints) -> SolveWithin:
    return partial(_solve_within, constraints=Rows.like(constraints))


def _solve_within(
    problem: Problem, deadline: Deadline, start: np.ndarray | None, constraints: Rows
) -> tuple[np.ndarray | None, float]:
    if not time_to_build(problem.pairwise, deadline):
        return None, math.inf
    search = _built(problem, deadline, constraints)
    if search is None:
        return None, math.inf
    if start is not None:
        search.begin_with(start)
    search.run(deadline)
    if search.infeasible:
        raise InfeasibleError(constraints.names)
    return search.state, search.bound


def _solve(
    problem: Problem, deadline: Deadline, start: np.ndarray | None
) -> tuple[np.ndarray, float]:
    if not time_to_build(problem.pairwise, deadline):
        return without_model(problem, start, deadline), math.inf
    state = first_state(problem, start, deadline)
    search = _built(problem, deadline)
    if search is None:
        return state, math.inf
    search.begin_with(state)
    search.run(deadline)
    solution = state
    if search.state is not None:
        solution = search.state
    return best_state(problem, solution), search.bound


def _built(problem: Problem, deadline: Deadline, constraints: Rows | None = None) -> _Search | None:
    """Return a search that is ready to run; None if an interrupt came while its model was built."""
    searches: list[_Search] = []
    over = ended(
        lambda: searches.append(_Search(problem, constraints)), lambda: deadline.interrupted
    )
    if over:
        return searches[0]
    return None


class _Search:
    """One search by HiGHS, with its latest state and bound, which a callback can stop.

    Attributes:
        state: `[n]`, the best state; None without one.
        infeasible: whether no state satisfies the constraints.
    """

    def __init__(self, problem: Problem, constraints: Rows | None = None):
        with uncounted():
            import highspy

        self._codes = highspy.HighsModelStatus
        self._highs = highspy.Highs()
        self._problem = problem
        self._scores = FloatingPoint.of(problem)
        self._products = np.flatnonzero(self._scores.pairwise)
        self._ends = problem.edges[self._products]
        self._stopped = False
        self._reported = math.inf
        self.state: np.ndarray | None = None
        self.infeasible = False
        options = {
            "output_flag": False,
            "threads": 1,
            # Its presolve takes longer than the search for dense problems. That of 1.14.0 also
            # returns false proofs of optimality.
            "presolve": "off",
            "mip_rel_gap": 0.0,
            "mip_abs_gap": self._scores.gap,
        }
        for name, value in (options | dict.fromkeys(TOLERANCES, TOLERANCE)).items():
            self._ask(f"option {name}", self._highs.setOptionValue(name, value))
        self._ask("the model", self._highs.passModel(self._model(highspy, constraints)))

    @property
    def bound(self) -> float:
        """The lowest proved upper bound on the score; infinite without one."""
        return self._scores.bound(self._reported)

    def begin_with(self, state: np.ndarray) -> None:
        """Start from a state `[n]` that satisfies the constraints."""
        products = state[self._ends].prod(axis=1)
        columns = np.arange(self._problem.n + len(products), dtype=np.int32)
        values = np.concatenate((state, products)).astype(np.float64)
        self._ask("the first state", self._highs.setSolution(len(columns), columns, values))
        self.state = state

    def run(self, deadline: Deadline) -> None:
        """Search until there is an optimality certificate or the deadline passes.

        Raises:
            SolveFailedError: HiGHS ended with neither.
        """
        highs = self._highs
        codes = self._codes
        if deadline.seconds is not None:
            highs.setOptionValue("time_limit", deadline.seconds)
        highs.cbMipInterrupt.subscribe(self._look)
        highs.cbMipImprovingSolution.subscribe(self._hear)
        with deadline.alarm(self._stop, self._known):
            if not ended(highs.run, lambda: deadline.interrupted):
                return  # HiGHS is in a linear program, and stops after it
        status = highs.getModelStatus()
        info = highs.getInfo()
        # No problem here is unbounded, so that "unbounded or infeasible" means infeasible.
        self.infeasible = status in (codes.kInfeasible, codes.kUnboundedOrInfeasible)
        expected = (codes.kOptimal, codes.kTimeLimit, codes.kInterrupt)
        if status not in expected and not self.infeasible:
            self._fail(highs.modelStatusToString(status))
        if self.infeasible:
            return
        self._reported = min(self._reported, info.mip_dual_bound)
        if math.isfinite(info.objective_function_value):
            self._take(np.array(highs.getSolution().col_value))

    def _stop(self) -> None:
        self._stopped = True

    def _look(self, event: Any) -> None:
        if self._stopped:
            event.interrupt()

    def _hear(self, event: Any) -> None:
        self._reported = min(self._reported, event.data_out.mip_dual_bound)
        self._take(np.array(event.data_out.mip_solution))

    def _take(self, values: np.ndarray) -> None:
        """Keep a state of HiGHS if it is better; its last one may be worse than an earlier one."""
        state = np.rint(values[: self._problem.n]).astype(np.int8)
        if self.state is None or self._score(state) > self._score(self.state):
            self.state = state

    def _score(self, z: np.ndarray) -> float:
        return float(self._problem.score_flat(z[None])[0])

    def _known(self) -> Known:
        """Return the latest state and bound."""
        if math.isinf(self.bound):
            bound = None
        else:
            bound = np.array([self.bound])
        state = None
        if self.state is not None:
            state = self.state[None]
        return Known(state, bound)

    def _model(self, highspy: Any, constraints: Rows | None) -> Any:
        """Return the linear model, with a column for each variable and each product z_i z_j.

        A product is tied to its variables on the side that the sign of its score needs.
        """
        n = self._problem.n
        weights = self._scores.pairwise[self._products]
        columns = n + np.arange(len(weights))
        gain = weights > 0
        i, j = self._ends.T
        # z_i z_j <= z_i and z_i z_j <= z_j where the score is positive, z_i + z_j - z_i z_j <= 1
        # where it is negative
        above = np.stack((np.tile(columns[gain], 2), np.concatenate((i[gain], j[gain]))), axis=1)
        below = np.stack((i[~gain], j[~gain], columns[~gain]), axis=1)
        rows = [(above, np.array([1.0, -1.0]), 0.0), (below, np.array([1.0, 1.0, -1.0]), 1.0)]
        index = np.concatenate([places.ravel() for places, _, _ in rows])
        value = np.concatenate([np.tile(signs, len(places)) for places, signs, _ in rows])
        length = np.concatenate([np.full(len(places), len(signs)) for places, signs, _ in rows])
        high = np.concatenate([np.full(len(places), right) for places, _, right in rows])
        low = np.full(len(high), -np.inf)
        if constraints is not None:
            row, place = np.nonzero(constraints.matrix)
            index = np.append(index, place)
            value = np.append(value, constraints.matrix[row, place])
            length = np.append(length, np.bincount(row, minlength=len(constraints)))
            low = np.append(low, constraints.low)
            high = np.append(high, constraints.high)
        model = highspy.HighsLp()
        model.sense_ = highspy.ObjSense.kMaximize
        model.num_col_ = n + len(weights)
        model.num_row_ = len(high)
        model.col_cost_ = np.concatenate((self._scores.unary, weights))
        model.col_lower_ = np.zeros(model.num_col_)
        model.col_upper_ = np.ones(model.num_col_)
        kinds = highspy.HighsVarType
        model.integrality_ = [kinds.kInteger] * n + [kinds.kContinuous] * len(weights)
        model.row_lower_ = low
        model.row_upper_ = high
        model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        model.a_matrix_.start_ = np.append(0, np.cumsum(length)).astype(np.int32)
        model.a_matrix_.index_ = index.astype(np.int32)
        model.a_matrix_.value_ = value.astype(np.float64)
        return model

    def _ask(self, what: str, status: Any) -> None:
        if status.name != "kOk":
            self._fail(f"{what} was refused")

    def _fail(self, reason: str) -> NoReturn:
        raise SolveFailedError(f"HiGHS failed on an instance of n = {self._problem.n}: {reason}")
