"""Run `auto` and other solvers on one outside instance, each in the form that suits it best."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import linear_programs, peers
from benchmarks.linear_programs import LicenceError, as_bits, of_labels, sides
from benchmarks.outside_families import Instance
from benchmarks.peers import Answer, solve_network
from benchmarks.stereo import cpu
from solvers import Problem, SolverError, solve
from solvers.labels import LabelProblem

MOST_PAIRS = 200_000
"""Most pairs for solvers that need a row or a table for each, built in Python."""

MQLIB_HEURISTIC = "PALUBECKIS2004bMST2"
"""A multi-start tabu search, one of the best of Dunning, Gupta and Silberholz 2018."""

EXACT = {
    "CP-SAT": peers.cp_sat,
    "HiGHS": peers.highs,
    "SCIP": peers.scip,
    "Gurobi": peers.gurobi,
    "toulbar2": peers.toulbar2,
}
"""Peers that prove, on bits, with and without constraints."""

PROGRAMS = {
    "HiGHS": linear_programs.highs,
    "SCIP": linear_programs.scip,
    "Gurobi": linear_programs.gurobi,
}
"""Peers that take labels as a linear program."""

PACKAGES = {
    "CP-SAT": "ortools.sat.python.cp_model",
    "HiGHS": "highspy",
    "SCIP": "pyscipopt",
    "Gurobi": "gurobipy",
    "toulbar2": "pytoulbar2",
    "dwave tabu": "dwave.samplers",
}
"""The module of each peer; MQLib is an executable on the path."""

NAMES = ("auto", *PACKAGES, "MQLib")

Row = dict[str, Any]


class TooLargeError(RuntimeError):
    """A peer is not asked."""


def answer(instance: Instance, name: str, seconds: float) -> Row:
    """Value, bound, proof and seconds of CPU time; the value is recomputed here.

    Args:
        instance: to solve.
        name: of a solver.
        seconds: its limit, by the clock that it knows.
    """
    begin = cpu()
    try:
        z, proved, bound, solver = _asked(instance, name, seconds)
    except (LicenceError, TooLargeError) as error:
        return {"refused": str(error).splitlines()[0]}
    except SolverError as error:
        return {"failed": f"{type(error).__name__}: {error}"[:200], "seconds": cpu() - begin}
    taken = cpu() - begin
    value = None if z is None else value_of(instance, z)
    finite_bound = float(bound) if math.isfinite(bound) and abs(bound) < 1e19 else None
    return {
        "seconds": taken,
        "value": value,
        "bound": finite_bound,
        "proved": bool(proved and value is not None),
        "solver": solver,
    }


def takes(instance: Instance, name: str) -> bool:
    """Whether a solver knows this kind of problem: heuristics of bits know no constraints."""
    free_bits = isinstance(instance.problem, Problem) and not instance.constraints
    return free_bits or name not in ("dwave tabu", "MQLib")


def value_of(instance: Instance, z: np.ndarray) -> float | None:
    """The score of an assignment; None where it is forbidden."""
    problem = instance.problem
    for constraint in instance.constraints:
        variables, coefficients, low, high = sides(constraint, problem.n)
        if not low <= float(z.ravel()[variables] @ np.array(coefficients)) <= high:
            return None
    score = float(np.ravel(problem.score(z.reshape(*problem.leading, problem.n)))[0])
    return score if math.isfinite(score) else None


def _asked(
    instance: Instance, name: str, seconds: float
) -> tuple[np.ndarray | None, bool, float, str]:
    problem = instance.problem
    if name == "auto":
        solution = solve(problem, time_limit=seconds, constraints=instance.constraints)
        proved = bool(np.ravel(solution.optimal)[0])
        return np.asarray(solution.z), proved, float(np.ravel(solution.bound)[0]), solution.solver
    if name in EXACT and problem.e > MOST_PAIRS:
        raise TooLargeError(f"not asked: {problem.e:,} products")
    if isinstance(problem, LabelProblem):
        return *_of_labels(problem, name, seconds), name
    result = _of_bits(instance, problem, name, seconds)
    return result.z, result.proved, result.bound, name


def _of_bits(instance: Instance, problem: Problem, name: str, seconds: float) -> Answer:
    if name == "MQLib":
        return Answer(mqlib(problem, seconds), proved=False)
    if name == "dwave tabu":
        return peers.dwave_tabu(problem, seconds, 1, math.ceil(1000 * seconds))
    ask: Any = partial(EXACT[name], constraints=instance.constraints)
    return Answer(*_fields(ask(problem, seconds, 1)))


def _fields(found: Answer) -> tuple[np.ndarray, bool, float]:
    return found.z, found.proved, found.bound


def _of_labels(
    problem: LabelProblem, name: str, seconds: float
) -> tuple[np.ndarray | None, bool, float]:
    """Labels, proof and bound, from tables, bits or the local polytope."""
    n, k = problem.n, problem.k
    if name == "toulbar2":
        return solve_network(_network(problem), seconds)
    if name in PROGRAMS:
        found = PROGRAMS[name](of_labels(problem), seconds)
        chosen, proved, bound = found.x, found.proved, found.bound
    else:
        bits, rules = as_bits(problem)
        of_one = peers.cp_sat(bits, seconds, 1, rules)
        chosen, proved, bound = _fields(of_one)
    if chosen is None or not (chosen.reshape(n, k).sum(axis=1) == 1).all():
        return None, False, bound
    return chosen.reshape(n, k).argmax(axis=1), proved, bound


def _network(problem: LabelProblem):  # pytoulbar2 is optional
    """Tables of six decimals; what is forbidden costs more than all else."""
    from pytoulbar2 import CFN

    top = 2 * float(problem.magnitude[0]) + 1
    network = CFN(ubinit=top, resolution=6, verbose=-1)
    for i, scores in enumerate(problem.unary[0]):
        network.AddVariable(f"x{i}", range(problem.k))
        network.AddFunction([i], np.where(np.isneginf(scores), top, -scores).tolist())
    for edge, ends in enumerate(problem.edges.tolist()):
        scores = problem.pairwise(edge)[0].ravel()
        network.AddFunction(ends, np.where(np.isneginf(scores), top, -scores).tolist())
    return network


def mqlib(problem: Problem, seconds: float) -> np.ndarray:
    """MQLib's executable on a file of the problem: pairs are listed once and count twice there."""
    executable = shutil.which("MQLib")
    assert executable is not None
    present = np.flatnonzero(problem.pairwise[0])
    diagonal = np.arange(1, problem.n + 1)
    ends = np.concatenate([np.stack([diagonal, diagonal], axis=1), problem.edges[present] + 1])
    values = np.concatenate([problem.unary[0], problem.pairwise[0][present] / 2])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.txt"
        with path.open("w", encoding="ascii") as file:
            file.write(f"{problem.n} {len(values)}\n")
            np.savetxt(file, np.column_stack([ends, values]), fmt="%d %d %.12g")
        command = [executable, "-fQ", str(path), "-h", MQLIB_HEURISTIC, "-r", f"{seconds:.2f}"]
        said = subprocess.run(  # fixed options
            [*command, "-s", "0", "-nv", "-ps"], capture_output=True, text=True, check=True
        )
    return np.array(said.stdout.partition("Solution:")[2].split(), np.int8)
