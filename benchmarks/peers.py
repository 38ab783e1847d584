"""Other people's solvers, each in the formulation that suits it best, on one instance of a problem.

Every function takes a problem of batch 1, seconds and threads. Seconds are of CPU time where there
is one thread and the solver can count them. What is not installed is skipped by name.
"""

from __future__ import annotations

import importlib.util
import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from solvers import Problem

GUROBI_QUADRATIC = 200
"""Most variables of a quadratic problem that the licence in Gurobi's package takes; linear ones may have 2,000."""


CPLEX_OPTIMAL = (101, 102)
"""Status codes of a proof, within gaps."""


class LicenceError(RuntimeError):
    """A problem is too large for a package without a licence of its own."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What a peer says of one instance.

    Attributes:
        z: `[n]`; zeros where it found nothing.
        proved: whether it says that no assignment is better.
        bound: that it gives for the score; infinite where it gives none.
    """

    z: np.ndarray
    proved: bool
    bound: float = math.inf


@dataclass(frozen=True)
class Peer:
    """A solver to compare with.

    Attributes:
        name: in the table.
        package: import name.
        solve: its answer to (problem, seconds, threads).
        parallel: whether it can use two threads on one instance.
        together: its answers to several problems with the same edges in one call; None where it
            takes one at a time.
    """

    name: str
    package: str
    solve: Callable[[Problem, float, int], Answer]
    parallel: bool = False
    together: Callable[[list[Problem]], list[Answer]] | None = None

    @property
    def installed(self) -> bool:
        """Whether its package is here."""
        return importlib.util.find_spec(self.package) is not None


def _terms(problem: Problem) -> tuple[list[float], Iterator[tuple[int, int, float]]]:
    """Unary scores, and (i, j, score) of the pairs that have one."""
    weights = problem.pairwise[0]
    present = np.flatnonzero(weights)
    first, second = problem.edges[present].T.tolist()
    return problem.unary[0].tolist(), zip(first, second, weights[present].tolist(), strict=True)


def cplex(problem: Problem, seconds: float, threads: int) -> Answer:
    """CPLEX's own Python API, the quadratic objective as it is, in a model that is kept for n variables. Gap 0."""
    import cplex as package

    unary, pairs = _terms(problem)
    model = _cplex_model(problem.n)
    objective, parameters = model.objective, model.parameters
    objective.set_linear(list(enumerate(unary)))
    rows: list[tuple[list[int], list[float]]] = [([], []) for _ in unary]
    for i, j, weight in pairs:
        for row, column in ((i, j), (j, i)):
            rows[row][0].append(column)
            rows[row][1].append(weight)
    objective.set_quadratic([package.SparsePair(*row) for row in rows])
    parameters.threads.set(threads)
    parameters.timelimit.set(seconds)
    parameters.clocktype.set(1 if threads == 1 else 2)  # CPU time or that of the clock
    model.solve()
    if not model.solution.is_primal_feasible():
        return Answer(np.zeros(problem.n, np.int8), proved=False)
    z = np.rint(model.solution.get_values()).astype(np.int8)
    proved = model.solution.get_status() in CPLEX_OPTIMAL
    return Answer(z, proved, model.solution.MIP.get_best_objective())


@cache
def _cplex_model(n: int):  # cplex is optional
    """A model of n binary variables, as a user keeps it who solves many problems of one size."""
    import cplex as package

    model = package.Cplex()
    for silence in (
        model.set_log_stream,
        model.set_results_stream,
        model.set_warning_stream,
        model.set_error_stream,
    ):
        silence(None)
    model.objective.set_sense(model.objective.sense.maximize)
    model.variables.add(obj=[0.0] * n, types="B" * n)
    model.parameters.mip.tolerances.mipgap.set(0.0)
    return model


def cp_sat(problem: Problem, seconds: float, threads: int) -> Answer:
    """A Boolean for every product, tied on the side that matters; scores rounded to 40 bits in all."""
    from ortools.sat.python import cp_model

    unit = problem.scale(40)
    unary, pairs = _terms(problem)
    model = cp_model.CpModel()
    terms = [model.new_bool_var("") for _ in unary]
    weights = [round(score / unit) for score in unary]
    for i, j, weight in pairs:
        both = model.new_bool_var("")
        if weight > 0:
            model.add_implication(both, terms[i])
            model.add_implication(both, terms[j])
        else:
            model.add_bool_or(~terms[i], ~terms[j], both)
        terms.append(both)
        weights.append(round(weight / unit))
    model.maximize(cp_model.LinearExpr.weighted_sum(terms, weights))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = threads
    solver.parameters.linearization_level = 2
    solver.parameters.max_time_in_seconds = seconds
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Answer(np.zeros(problem.n, np.int8), proved=False)
    z = np.array([solver.boolean_value(x) for x in terms[: problem.n]], np.int8)
    return Answer(z, status == cp_model.OPTIMAL, solver.best_objective_bound * unit)


def highs(problem: Problem, seconds: float, threads: int, presolve: str = "choose") -> Answer:
    """HiGHS' own API, the model as arrays: a continuous variable for every product. One thread; gap 0."""
    import highspy

    weights = problem.pairwise[0]
    present = np.flatnonzero(weights)
    weights, (i, j) = weights[present], problem.edges[present].T
    n, both, gain = problem.n, problem.n + np.arange(len(present)), weights > 0
    # both <= x_i and both <= x_j where a product is worth something, x_i + x_j - both <= 1 where it
    # costs
    above = np.stack((np.tile(both[gain], 2), np.concatenate((i[gain], j[gain]))), axis=1)
    below = np.stack((i[~gain], j[~gain], both[~gain]), axis=1)
    model = highspy.HighsLp()
    model.sense_ = highspy.ObjSense.kMaximize
    model.num_col_, model.num_row_ = n + len(weights), len(above) + len(below)
    model.col_cost_ = np.concatenate((problem.unary[0], weights))
    model.col_lower_, model.col_upper_ = np.zeros(model.num_col_), np.ones(model.num_col_)
    kinds = highspy.HighsVarType
    model.integrality_ = [kinds.kInteger] * n + [kinds.kContinuous] * len(weights)
    model.row_lower_ = np.full(model.num_row_, -np.inf)
    model.row_upper_ = np.repeat([0.0, 1.0], [len(above), len(below)])
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lengths = np.repeat([2, 3], [len(above), len(below)])
    model.a_matrix_.start_ = np.concatenate(([0], lengths.cumsum()))
    model.a_matrix_.index_ = np.concatenate((above.ravel(), below.ravel()))
    signs = (np.tile([1.0, -1.0], len(above)), np.tile([1.0, 1.0, -1.0], len(below)))
    model.a_matrix_.value_ = np.concatenate(signs)
    search = highspy.Highs()
    for name, value in {
        "output_flag": False,
        "threads": 1,
        "mip_rel_gap": 0.0,
        "time_limit": seconds,
    }.items():
        search.setOptionValue(name, value)
    search.passModel(model)
    search.run()
    info, status = search.getInfo(), search.getModelStatus()
    if not np.isfinite(info.objective_function_value):
        return Answer(np.zeros(n, np.int8), False, info.mip_dual_bound)
    z = np.rint(np.array(search.getSolution().col_value)[:n]).astype(np.int8)
    return Answer(z, status == highspy.HighsModelStatus.kOptimal, info.mip_dual_bound)


def scip(problem: Problem, seconds: float, threads: int) -> Answer:
    """As for HiGHS. One thread; gap 0 is SCIP's default."""
    from pyscipopt import Model, quicksum

    unary, pairs = _terms(problem)
    model = Model()
    model.hideOutput()
    model.setParam("limits/time", seconds)
    model.setParam("timing/clocktype", 1)  # CPU time
    x = [model.addVar(vtype="B") for _ in unary]
    terms = [score * variable for score, variable in zip(unary, x, strict=True)]
    for i, j, weight in pairs:
        both = model.addVar(lb=0.0, ub=1.0)
        if weight > 0:
            model.addCons(both <= x[i])
            model.addCons(both <= x[j])
        else:
            model.addCons(both >= x[i] + x[j] - 1)
        terms.append(weight * both)
    model.setObjective(quicksum(terms), "maximize")
    model.optimize()
    if not model.getNSols():
        return Answer(np.zeros(problem.n, np.int8), proved=False)
    z = np.array([round(model.getVal(variable)) for variable in x], np.int8)
    return Answer(z, model.getStatus() == "optimal", model.getDualbound())


def gurobi(problem: Problem, seconds: float, threads: int) -> Answer:
    """The quadratic objective as it is where its free licence takes that, else as for HiGHS. Gap 0."""
    import gurobipy

    unary, pairs = _terms(problem)
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        x = model.addVars(problem.n, vtype="B")
        terms = [score * variable for score, variable in zip(unary, x.values(), strict=True)]
        for i, j, weight in pairs:
            if problem.n <= GUROBI_QUADRATIC:
                terms.append(weight * x[i] * x[j])
                continue
            both = model.addVar(ub=1.0)
            if weight > 0:
                model.addConstr(both <= x[i])
                model.addConstr(both <= x[j])
            else:
                model.addConstr(both >= x[i] + x[j] - 1)
            terms.append(weight * both)
        model.setObjective(gurobipy.quicksum(terms), gurobipy.GRB.MAXIMIZE)
        model.params.MIPGap, model.params.Threads = 0.0, threads
        end = time.process_time() + seconds

        def stop(running, _) -> None:  # gurobipy is optional
            if time.process_time() > end:
                running.terminate()

        try:
            model.optimize(stop)
        except gurobipy.GurobiError as error:
            raise LicenceError(str(error)) from error
        if not model.SolCount:
            return Answer(np.zeros(problem.n, np.int8), False, model.ObjBound)
        z = np.array([round(variable.X) for variable in x.values()], np.int8)
        return Answer(z, model.Status == gurobipy.GRB.OPTIMAL, model.ObjBound)


def toulbar2(problem: Problem, seconds: float, threads: int) -> Answer:
    """A cost function network of unary and binary tables, six decimals, default search, one thread."""
    from pytoulbar2 import CFN

    unary, pairs = _terms(problem)
    network = CFN(resolution=6, verbose=-1)
    for i, score in enumerate(unary):
        network.AddVariable(f"x{i}", [0, 1])
        network.AddFunction([i], [0.0, -score])
    for i, j, weight in pairs:
        network.AddFunction([i, j], [0.0, 0.0, 0.0, -weight])
    try:
        found = network.Solve(timeLimit=math.ceil(seconds))
    finally:
        # toulbar2 leaves its timer running, whose signal would end this process later.
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    bound = -network.GetDDualBound()
    if found is None:
        return Answer(np.zeros(problem.n, np.int8), False, bound)
    z, cost, _ = found
    return Answer(np.array(z, np.int8), -cost >= bound - 1e-5, bound)


def dwave_tree(problem: Problem, seconds: float, threads: int) -> Answer:
    """Exact elimination along a tree decomposition, one thread."""
    from dwave.samplers import TreeDecompositionSolver

    return Answer(
        _best_sample(TreeDecompositionSolver().sample(_bqm(problem)), problem.n), proved=True
    )


def dwave_tabu(problem: Problem, seconds: float, threads: int) -> Answer:
    """Multi-start tabu search for a tenth of a second, which proves nothing."""
    from dwave.samplers import TabuSampler

    return Answer(
        _best_sample(TabuSampler().sample(_bqm(problem), timeout=100, seed=0), problem.n),
        proved=False,
    )


def dwave_annealing(problem: Problem, seconds: float, threads: int) -> Answer:
    """Simulated annealing, 10 reads of 1,000 sweeps, which proves nothing."""
    from dwave.samplers import SimulatedAnnealingSampler

    found = SimulatedAnnealingSampler().sample(_bqm(problem), num_reads=10, num_sweeps=1000, seed=0)
    return Answer(_best_sample(found, problem.n), proved=False)


def _bqm(problem: Problem):  # dimod is optional
    import dimod

    first, second = problem.edges.T
    couplings = (first, second, -problem.pairwise[0])
    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        -problem.unary[0], couplings, 0.0, "BINARY"
    )


def _best_sample(samples, n: int) -> np.ndarray:
    best = samples.first.sample
    return np.array([best[i] for i in range(n)], np.int8)


def pymaxflow(problem: Problem, seconds: float, threads: int) -> Answer:
    """What a user of PyMaxflow writes: a graph for every instance, edges added as arrays."""
    return Answer(
        cut_one(*capacities(problem.unary, problem.pairwise, problem.edges)[0]), proved=True
    )


def pymaxflow_together(problems: list[Problem]) -> list[Answer]:
    """PyMaxflow's best mode for many small instances: one graph for all."""
    unary = np.concatenate([problem.unary for problem in problems])
    pairwise = np.concatenate([problem.pairwise for problem in problems])
    return [
        Answer(z, proved=True) for z in cut_together(capacities(unary, pairwise, problems[0].edges))
    ]


Capacities: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""To source and sink `[nodes]`, along the edges `[edges]`, and the edges `[edges, 2]`."""


def capacities(unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray) -> list[Capacities]:
    """The minimum cut of each instance of scores `[batch, n]` and `[batch, edges]`."""
    ends, n = edges.ravel(), unary.shape[1]
    ends_of_all = (ends + n * np.arange(len(unary))[:, None]).ravel()
    halves = np.bincount(ends_of_all, np.repeat(pairwise / 2, 2, axis=1).ravel(), unary.size)
    terminal = unary + halves.reshape(unary.shape)
    source, sink, between = np.maximum(terminal, 0), np.maximum(-terminal, 0), pairwise / 2
    return [(*instance, edges) for instance in zip(source, sink, between, strict=True)]


def cut_one(
    source: np.ndarray, sink: np.ndarray, between: np.ndarray, edges: np.ndarray
) -> np.ndarray:
    """One graph for one instance: `[n]`, the side of each node."""
    import maxflow

    graph = maxflow.Graph[float](len(source), len(edges))
    nodes = graph.add_grid_nodes(len(source))
    graph.add_grid_tedges(nodes, source, sink)
    graph.add_edges(edges[:, 0], edges[:, 1], between, between)
    graph.maxflow()
    return np.asarray(~graph.get_grid_segments(nodes)).astype(np.int8)


def cut_together(instances: list[Capacities]) -> np.ndarray:
    """One graph for a batch, which is PyMaxflow's best mode: `[batch, n]`, the side of each node."""
    sources, sinks, betweens, _ = (np.stack(parts) for parts in zip(*instances, strict=True))
    batch, n = sources.shape
    edges = (instances[0][3] + n * np.arange(batch)[:, None, None]).reshape(-1, 2)
    return cut_one(sources.ravel(), sinks.ravel(), betweens.ravel(), edges).reshape(batch, n)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("CPLEX", "cplex", cplex, parallel=True),
        Peer("CP-SAT", "ortools", cp_sat, parallel=True),
        Peer("HiGHS", "highspy", highs),
        Peer("SCIP", "pyscipopt", scip),
        Peer("toulbar2", "pytoulbar2", toulbar2),
        Peer("Gurobi", "gurobipy", gurobi),
        Peer("PyMaxflow", "maxflow", pymaxflow),
        Peer("PyMaxflow, one graph", "maxflow", pymaxflow, together=pymaxflow_together),
        Peer("dwave tree", "dwave.samplers", dwave_tree),
        Peer("dwave tabu", "dwave.samplers", dwave_tabu),
        Peer("dwave annealing", "dwave.samplers", dwave_annealing),
    )
}
"""By name; the last two are heuristics."""
