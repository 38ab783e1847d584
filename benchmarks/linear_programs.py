"""Linear programs for peers that know no products, from bits with constraints and from labels."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from solvers import Problem
from solvers.constraints import Constraint, at_most, one_of
from solvers.labels import LabelProblem


@dataclass(frozen=True, eq=False)
class Program:
    """Maximise cost.x over 0 <= x <= 1 and low <= rows x <= high.

    Attributes:
        cost: `[columns]`.
        rows: `[rows, columns]`.
        low: `[rows]`.
        high: `[rows]`.
        whole: the first so many columns are whole numbers.
    """

    cost: np.ndarray
    rows: csr_array
    low: np.ndarray
    high: np.ndarray
    whole: int


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """What a peer says of a program.

    Attributes:
        x: `[whole]`, rounded; None where it found nothing.
        proved: whether it says that nothing is better.
        bound: on the cost.
    """

    x: np.ndarray | None
    proved: bool
    bound: float


class Rows:
    """Rows that are added one after the other, or many of the same length at once."""

    def __init__(self) -> None:
        """No rows yet."""
        self._columns: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._lengths: list[np.ndarray] = []
        self._low: list[np.ndarray] = []
        self._high: list[np.ndarray] = []

    def add(self, columns: np.ndarray, values: np.ndarray, low: float, high: float) -> None:
        """Add rows: columns `[rows, length]`, values `[length]` or of the same shape."""
        count, length = columns.shape
        self._columns.append(columns.ravel())
        self._values.append(np.broadcast_to(values, columns.shape).ravel())
        self._lengths.append(np.full(count, length))
        self._low.append(np.full(count, low))
        self._high.append(np.full(count, high))

    def program(self, cost: np.ndarray, whole: int) -> Program:
        """The program of all rows."""
        if not self._columns:
            empty = np.zeros(0)
            return Program(cost, csr_array((0, len(cost))), empty, empty, whole)
        lengths = np.concatenate(self._lengths)
        starts = np.concatenate(([0], lengths.cumsum()))
        values = np.concatenate(self._values).astype(float)
        matrix = csr_array(
            (values, np.concatenate(self._columns), starts), shape=(len(lengths), len(cost))
        )
        return Program(cost, matrix, np.concatenate(self._low), np.concatenate(self._high), whole)


def sides(constraint: Constraint, n: int) -> tuple[list[int], list[float], float, float]:
    """Variables, coefficients, least and largest sum of a constraint over n bits."""
    coefficients = constraint.coefficients or dict.fromkeys(range(n), 1.0)
    low = -np.inf if constraint.comparison == "<=" else constraint.right
    high = np.inf if constraint.comparison == ">=" else constraint.right
    variables = [int(i) for i in coefficients]  # type: ignore[arg-type]  # of bits
    return variables, list(coefficients.values()), low, high


def of_bits(problem: Problem, constraints: Sequence[Constraint] = ()) -> Program:
    """A continuous column for every product, tied on the side that matters."""
    weights = problem.pairwise[0]
    present = np.flatnonzero(weights)
    weights = weights[present]
    first, second = problem.edges[present].T
    both = problem.n + np.arange(len(present))
    gain = weights > 0
    rows = Rows()
    for end in (first, second):
        rows.add(np.stack((both[gain], end[gain]), axis=1), np.array([1.0, -1.0]), -np.inf, 0.0)
    below = np.stack((first[~gain], second[~gain], both[~gain]), axis=1)
    rows.add(below, np.array([1.0, 1.0, -1.0]), -np.inf, 1.0)
    for constraint in constraints:
        variables, coefficients, low, high = sides(constraint, problem.n)
        rows.add(np.array([variables]), np.array(coefficients), low, high)
    return rows.program(np.concatenate((problem.unary[0], weights)), problem.n)


def of_labels(problem: LabelProblem) -> Program:
    """The local polytope: a column for every value and every allowed pair of values.

    The columns of an edge's pairs add up to those of its ends. A forbidden pair has no column, and
    the column of a forbidden value must be zero. Scores of equal values need only the columns of
    equal values, which is as tight.
    """
    if problem.is_potts:
        return of_bits(*as_bits(problem))
    n, k = problem.n, problem.k
    unary = problem.unary[0].ravel()
    rows = Rows()
    rows.add(np.arange(n * k).reshape(n, k), np.ones(k), 1.0, 1.0)
    forbidden = np.flatnonzero(np.isneginf(unary))
    rows.add(forbidden[:, None], np.ones(1), 0.0, 0.0)
    costs = [np.where(np.isneginf(unary), 0.0, unary)]
    columns = n * k
    for edge, (i, j) in enumerate(problem.edges.tolist()):
        table = problem.pairwise(edge)[0]
        allowed = ~np.isneginf(table)
        number = np.full(table.shape, -1)
        number[allowed] = columns + np.arange(allowed.sum())
        columns += int(allowed.sum())
        costs.append(table[allowed])
        for end, numbers in ((i, number), (j, number.T)):
            for value, row in enumerate(numbers):
                present = row[row >= 0]
                place = np.append(present, k * end + value)[None]
                rows.add(place, np.append(np.ones(len(present)), -1.0), 0.0, 0.0)
    return rows.program(np.concatenate(costs), n * k)


def as_bits(problem: LabelProblem) -> tuple[Problem, list[Constraint]]:
    """A bit for every value, exactly one for each variable; constraints forbid the rest."""
    n, k = problem.n, problem.k
    unary = problem.unary[0].ravel()
    rules = [one_of(range(k * i, k * i + k)) for i in range(n)]
    rules += [at_most(0, [column]) for column in np.flatnonzero(np.isneginf(unary)).tolist()]
    ends = []
    scores = []
    for edge, (i, j) in enumerate(problem.edges.tolist()):
        table = problem.pairwise(edge)[0]
        for a, b in np.argwhere(table).tolist():
            pair = (k * i + a, k * j + b)
            if np.isneginf(table[a, b]):
                rules.append(at_most(1, pair))
                continue
            ends.append(pair)
            scores.append(table[a, b])
    free = np.where(np.isneginf(unary), 0.0, unary)
    edges = np.array(ends, np.int64).reshape(-1, 2)
    return Problem.from_arrays(free[None], np.array([scores], float), edges=edges), rules


def highs(program: Program, seconds: float, presolve: str = "choose") -> ProgramAnswer:
    """HiGHS' own API, the model as arrays. One thread; gap 0."""
    import highspy

    model = highspy.HighsLp()
    model.sense_ = highspy.ObjSense.kMaximize
    model.num_row_, model.num_col_ = program.rows.shape
    model.col_cost_ = program.cost
    model.col_lower_ = np.zeros(model.num_col_)
    model.col_upper_ = np.ones(model.num_col_)
    kinds = highspy.HighsVarType
    products = model.num_col_ - program.whole
    model.integrality_ = [kinds.kInteger] * program.whole + [kinds.kContinuous] * products
    model.row_lower_ = program.low
    model.row_upper_ = program.high
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = program.rows.indptr
    model.a_matrix_.index_ = program.rows.indices
    model.a_matrix_.value_ = program.rows.data
    search = highspy.Highs()
    options = {
        "output_flag": False,
        "threads": 1,
        "mip_rel_gap": 0.0,
        "time_limit": seconds,
        "presolve": presolve,
    }
    for name, value in options.items():
        search.setOptionValue(name, value)
    search.passModel(model)
    search.run()
    info, status = search.getInfo(), search.getModelStatus()
    bound = info.mip_dual_bound
    if not np.isfinite(info.objective_function_value) or not len(search.getSolution().col_value):
        return ProgramAnswer(None, False, bound)
    x = np.rint(np.array(search.getSolution().col_value)[: program.whole]).astype(np.int8)
    return ProgramAnswer(x, status == highspy.HighsModelStatus.kOptimal, bound)


def scip(program: Program, seconds: float) -> ProgramAnswer:
    """PySCIPOpt, constraint by constraint. One thread; gap 0 is SCIP's default."""
    from pyscipopt import Model, quicksum

    model = Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("timing/clocktype", 1)  # CPU time
    x = [
        model.addVar(vtype="B" if column < program.whole else "C", lb=0.0, ub=1.0)
        for column in range(len(program.cost))
    ]
    starts, indices, values = program.rows.indptr, program.rows.indices, program.rows.data
    for row, (low, high) in enumerate(zip(program.low, program.high, strict=True)):
        inside = slice(starts[row], starts[row + 1])
        terms = zip(values[inside].tolist(), indices[inside].tolist(), strict=True)
        total = quicksum(value * x[column] for value, column in terms)
        if low == high:
            model.addCons(total == high)
            continue
        if np.isfinite(high):
            model.addCons(total <= high)
        if np.isfinite(low):
            model.addCons(total >= low)
    costs = zip(program.cost.tolist(), x, strict=True)
    model.setObjective(quicksum(cost * column for cost, column in costs), "maximize")
    model.optimize()
    bound = model.getDualbound()
    if not model.getNSols():
        return ProgramAnswer(None, False, bound)
    whole = np.array([round(model.getVal(column)) for column in x[: program.whole]], np.int8)
    return ProgramAnswer(whole, model.getStatus() == "optimal", bound)


def gurobi(program: Program, seconds: float, threads: int = 1) -> ProgramAnswer:
    """Gurobi's matrix API. Gap 0, CPU time."""
    import gurobipy

    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        kinds = np.where(np.arange(len(program.cost)) < program.whole, "B", "C")
        x = model.addMVar(len(program.cost), ub=1.0, vtype=kinds)
        model.setObjective(program.cost @ x, gurobipy.GRB.MAXIMIZE)
        equal = program.low == program.high
        above = np.isfinite(program.high) & ~equal
        below = np.isfinite(program.low) & ~equal
        for chosen, sense, right in (
            (equal, "=", program.high),
            (above, "<", program.high),
            (below, ">", program.low),
        ):
            if chosen.any():
                model.addMConstr(program.rows[chosen], x, sense, right[chosen])
        gurobi_within(model, seconds, threads)
        if not model.SolCount:
            return ProgramAnswer(None, False, model.ObjBound)
        whole = np.rint(x.X[: program.whole]).astype(np.int8)
        return ProgramAnswer(whole, model.Status == gurobipy.GRB.OPTIMAL, model.ObjBound)


class LicenceError(RuntimeError):
    """A problem is too large for a package without a licence of its own."""


def gurobi_within(model, seconds: float, threads: int = 1) -> None:  # gurobipy is optional
    """Optimise a Gurobi model within so many seconds of CPU time.

    Raises:
        LicenceError: the model is too large for the free licence.
    """
    import gurobipy

    model.params.MIPGap = 0.0
    model.params.Threads = threads
    end = time.process_time() + seconds

    def stop(running, _) -> None:  # gurobipy is optional
        if time.process_time() > end:
            running.terminate()

    try:
        model.optimize(stop)
    except gurobipy.GurobiError as error:
        raise LicenceError(str(error)) from error
