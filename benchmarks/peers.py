"""Other people's solvers, each in the formulation that suits it best, on one instance of a problem.

Every function takes a problem of batch 1, seconds and threads. Seconds are of CPU time where there is one
thread and the solver can count them. What is not installed is skipped by name.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from solvers import Problem

GUROBI_QUADRATIC = 200
"""Most variables of a quadratic problem that the licence in Gurobi's package takes; linear ones may have 2,000."""


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
    """

    name: str
    package: str
    solve: Callable[[Problem, float, int], Answer]
    parallel: bool = False

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
    """The quadratic objective as it is; CPLEX linearises it or not as it likes. Gap 0."""
    from docplex.mp.model import Model

    unary, pairs = _terms(problem)
    with Model(checker="off") as model:
        x = model.binary_var_list(problem.n)
        model.maximize(model.scal_prod(x, unary) + model.sum(w * (x[i] * x[j]) for i, j, w in pairs))
        model.parameters.threads = threads
        model.parameters.mip.tolerances.mipgap = 0
        model.parameters.timelimit = seconds
        model.parameters.clocktype = 1 if threads == 1 else 2  # CPU time or that of the clock
        found = model.solve()
        if found is None:
            return Answer(np.zeros(problem.n, np.int8), proved=False)
        z = np.rint(found.get_value_list(x)).astype(np.int8)
        details = model.solve_details
        return Answer(z, not details.has_hit_limit(), details.best_bound)


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


def highs(problem: Problem, seconds: float, threads: int) -> Answer:
    """A continuous variable for every product, tied on the side that matters. One thread; gap 0."""
    from ortools.math_opt.python import mathopt

    unary, pairs = _terms(problem)
    model = mathopt.Model()
    x = [model.add_binary_variable() for _ in unary]
    terms = [score * variable for score, variable in zip(unary, x, strict=True)]
    for i, j, weight in pairs:
        both = model.add_variable(lb=0.0, ub=1.0)
        if weight > 0:
            model.add_linear_constraint(both <= x[i])
            model.add_linear_constraint(both <= x[j])
        else:
            model.add_linear_constraint(both >= x[i] + x[j] - 1)
        terms.append(weight * both)
    model.maximize(mathopt.fast_sum(terms))
    limits = mathopt.SolveParameters(relative_gap_tolerance=0.0, time_limit=timedelta(seconds=seconds))
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=limits)
    bound = float(result.termination.objective_bounds.dual_bound)
    if not result.has_primal_feasible_solution():
        return Answer(np.zeros(problem.n, np.int8), False, bound)
    z = np.rint(result.variable_values(x)).astype(np.int8)
    return Answer(z, result.termination.reason == mathopt.TerminationReason.OPTIMAL, bound)


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
    found = network.Solve(timeLimit=math.ceil(seconds))
    bound = -network.GetDDualBound()
    if found is None:
        return Answer(np.zeros(problem.n, np.int8), False, bound)
    z, cost, _ = found
    return Answer(np.array(z, np.int8), -cost >= bound - 1e-5, bound)


def dwave_tree(problem: Problem, seconds: float, threads: int) -> Answer:
    """Exact elimination along a tree decomposition, one thread."""
    from dwave.samplers import TreeDecompositionSolver

    return Answer(_best_sample(TreeDecompositionSolver().sample(_bqm(problem)), problem.n), proved=True)


def dwave_tabu(problem: Problem, seconds: float, threads: int) -> Answer:
    """Multi-start tabu search for a tenth of a second, which proves nothing."""
    from dwave.samplers import TabuSampler

    return Answer(
        _best_sample(TabuSampler().sample(_bqm(problem), timeout=100, seed=0), problem.n), proved=False
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
    return dimod.BinaryQuadraticModel.from_numpy_vectors(-problem.unary[0], couplings, 0.0, "BINARY")


def _best_sample(samples, n: int) -> np.ndarray:
    best = samples.first.sample
    return np.array([best[i] for i in range(n)], np.int8)


def pymaxflow(problem: Problem, seconds: float, threads: int) -> Answer:
    """What a user of PyMaxflow writes: a graph for every instance, edges added as arrays."""
    import maxflow

    terminal, weights, edges = problem.unary[0].copy(), problem.pairwise[0], problem.edges
    terminal += np.bincount(edges.ravel(), np.repeat(weights / 2, 2), problem.n)
    graph = maxflow.Graph[float](problem.n, len(edges))
    nodes = graph.add_grid_nodes(problem.n)
    graph.add_grid_tedges(nodes, np.maximum(terminal, 0), np.maximum(-terminal, 0))
    graph.add_edges(edges[:, 0], edges[:, 1], weights / 2, weights / 2)
    graph.maxflow()
    return Answer((~graph.get_grid_segments(nodes)).astype(np.int8), proved=True)


PEERS = {
    peer.name: peer
    for peer in (
        Peer("CPLEX", "docplex", cplex, parallel=True),
        Peer("CP-SAT", "ortools", cp_sat, parallel=True),
        Peer("HiGHS", "ortools", highs),
        Peer("SCIP", "pyscipopt", scip),
        Peer("toulbar2", "pytoulbar2", toulbar2),
        Peer("Gurobi", "gurobipy", gurobi),
        Peer("PyMaxflow", "maxflow", pymaxflow),
        Peer("dwave tree", "dwave.samplers", dwave_tree),
        Peer("dwave tabu", "dwave.samplers", dwave_tabu),
        Peer("dwave annealing", "dwave.samplers", dwave_annealing),
    )
}
"""By name; the last two are heuristics."""
