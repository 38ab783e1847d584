"""Other people's solvers, each in the formulation that suits it best, on one instance of a problem.

Every function takes a problem of batch 1, seconds and threads. Seconds are of CPU time where there
is one thread and the solver can count them. What is not installed is skipped by name.
"""

from __future__ import annotations

import importlib.util
import math
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import numpy as np

from benchmarks import linear_programs
from benchmarks.linear_programs import of_bits, sides
from solvers import Problem
from solvers.constraints import Constraint

GUROBI_QUADRATIC = 200
"""Most variables of a quadratic problem that the licence in Gurobi's package takes; linear ones may have 2,000."""


CPLEX_OPTIMAL = (101, 102)
"""Status codes of a proof, within gaps."""


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


def cp_sat(
    problem: Problem, seconds: float, threads: int, constraints: Sequence[Constraint] = ()
) -> Answer:
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
    for constraint in constraints:
        _add_to_cp_sat(model, terms, constraint, problem.n)
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


def _add_to_cp_sat(
    model, terms: list, constraint: Constraint, n: int
) -> None:  # ortools is optional
    """Counts as clauses of CP-SAT, sums as linear constraints of whole numbers."""
    from ortools.sat.python import cp_model

    variables, coefficients, low, high = sides(constraint, n)
    chosen = [terms[i] for i in variables]
    if constraint.counts and (low, high) == (1, 1):
        model.add_exactly_one(chosen)
        return
    if constraint.counts and high == 1 and math.isinf(low):
        model.add_at_most_one(chosen)
        return
    total = cp_model.LinearExpr.weighted_sum(chosen, [int(number) for number in coefficients])
    if math.isfinite(high):
        model.add(total <= int(high))
    if math.isfinite(low):
        model.add(total >= int(low))


def highs(
    problem: Problem,
    seconds: float,
    threads: int,
    presolve: str = "choose",
    constraints: Sequence[Constraint] = (),
) -> Answer:
    """A continuous variable for every product. One thread; gap 0."""
    result = linear_programs.highs(of_bits(problem, constraints), seconds, presolve)
    return _of_program(result, problem.n)


def scip(
    problem: Problem, seconds: float, threads: int, constraints: Sequence[Constraint] = ()
) -> Answer:
    """As for HiGHS. One thread; gap 0 is SCIP's default."""
    return _of_program(linear_programs.scip(of_bits(problem, constraints), seconds), problem.n)


def _of_program(found: linear_programs.ProgramAnswer, n: int) -> Answer:
    z = np.zeros(n, np.int8) if found.x is None else found.x
    return Answer(z, found.proved, found.bound)


def gurobi(
    problem: Problem, seconds: float, threads: int, constraints: Sequence[Constraint] = ()
) -> Answer:
    """The quadratic objective as it is where its free licence takes that, else as for HiGHS. Gap 0."""
    import gurobipy

    if problem.n > GUROBI_QUADRATIC:
        program = of_bits(problem, constraints)
        return _of_program(linear_programs.gurobi(program, seconds, threads), problem.n)
    unary, pairs = _terms(problem)
    with gurobipy.Env(params={"OutputFlag": 0}) as env, gurobipy.Model(env=env) as model:
        x = model.addVars(problem.n, vtype="B")
        terms = [score * variable for score, variable in zip(unary, x.values(), strict=True)]
        terms += [weight * x[i] * x[j] for i, j, weight in pairs]
        for constraint in constraints:
            variables, coefficients, low, high = sides(constraint, problem.n)
            chosen = zip(coefficients, variables, strict=True)
            total = gurobipy.quicksum(number * x[i] for number, i in chosen)
            if math.isfinite(high):
                model.addConstr(total <= high)
            if math.isfinite(low):
                model.addConstr(total >= low)
        model.setObjective(gurobipy.quicksum(terms), gurobipy.GRB.MAXIMIZE)
        linear_programs.gurobi_within(model, seconds, threads)
        if not model.SolCount:
            return Answer(np.zeros(problem.n, np.int8), False, model.ObjBound)
        z = np.array([round(variable.X) for variable in x.values()], np.int8)
        return Answer(z, model.Status == gurobipy.GRB.OPTIMAL, model.ObjBound)


def toulbar2(
    problem: Problem, seconds: float, threads: int, constraints: Sequence[Constraint] = ()
) -> Answer:
    """A cost function network of unary and binary tables, six decimals, default search, one thread."""
    from pytoulbar2 import CFN

    unary, pairs = _terms(problem)
    network = CFN(resolution=6, verbose=-1)
    for i, score in enumerate(unary):
        network.AddVariable(f"x{i}", [0, 1])
        network.AddFunction([i], [0.0, -score])
    for i, j, weight in pairs:
        network.AddFunction([i, j], [0.0, 0.0, 0.0, -weight])
    for constraint in constraints:
        variables, coefficients, *_ = sides(constraint, problem.n)
        numbers = [int(number) for number in coefficients]
        network.AddLinearConstraint(
            numbers, variables, constraint.comparison, int(constraint.right)
        )
    z, proved, bound = solve_network(network, seconds)
    return Answer(np.zeros(problem.n, np.int8) if z is None else z, proved, bound)


def solve_network(network, seconds: float) -> tuple[np.ndarray | None, bool, float]:
    """What toulbar2 finds: states, whether they are proved, and its bound on the score."""
    try:
        found = network.Solve(timeLimit=math.ceil(seconds))
    finally:
        # toulbar2 leaves its timer running, whose signal would end this process later.
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    bound = -network.GetDDualBound()
    if found is None:
        return None, False, bound
    z, cost, _ = found
    return np.array(z, np.int8), -cost >= bound - 1e-5, bound


def dwave_tree(problem: Problem, seconds: float, threads: int) -> Answer:
    """Exact elimination along a tree decomposition, one thread."""
    from dwave.samplers import TreeDecompositionSolver

    return Answer(
        _best_sample(TreeDecompositionSolver().sample(_bqm(problem)), problem.n), proved=True
    )


def dwave_tabu(problem: Problem, seconds: float, threads: int, milliseconds: int = 100) -> Answer:
    """Multi-start tabu search for milliseconds of the clock, which proves nothing."""
    from dwave.samplers import TabuSampler

    return Answer(
        _best_sample(TabuSampler().sample(_bqm(problem), timeout=milliseconds, seed=0), problem.n),
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
