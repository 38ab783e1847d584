"""The argmax of 15 bits with all pairs: ours and everybody else's, each as its own users call it, side by side.

    pip install -e '.[cplex,pymaxflow,toulbar2,benchmarks]'
    OMP_NUM_THREADS=1 python benchmarks/fifteen_bits.py --output results/fifteen_bits.json

Everything runs in one process and takes turns, with one thread. Times are medians of CPU time in
microseconds an instance, from arrays to states; the rows "one at a time" pass each instance in a
call of its own. No peer goes through our wrappers: CPLEX is called through its own Python API, with
a model that is kept, and through docplex; PyMaxflow gets its capacities ready made. Scores are
compared with ours before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeAlias

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import medians, on_cores
from benchmarks.peers import PEERS, capacities, cut_one, cut_together, highs
from solvers import Problem, instances, prepare, solver_class
from solvers.instances import Instances
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

N, BATCH, SLOW_BATCH = 15, 100, 20
TURN_SECONDS = 0.01
AGREE = 1e-6
"""Relative: MIP solvers and toulbar2 work with tolerances and decimals."""

GENERAL_PEERS = ("CPLEX", "CP-SAT", "HiGHS", "SCIP", "Gurobi", "toulbar2", "dwave tree")
WRAPPED = ("cplex", "cp_sat", "highs")
"""Backends of ours that call a peer, beside that peer by itself."""

States: TypeAlias = Callable[[], np.ndarray]


def ours(drawn: Instances, name: str) -> dict[str, States]:
    """A backend of ours, on the whole batch in one call and one instance at a time."""
    prepared = prepare(drawn.edges, N, solver=_backend(name))
    pairs = list(zip(drawn.unary, drawn.pairwise, strict=True))
    return {
        f"{name}, the batch": lambda: prepared(drawn.unary, drawn.pairwise).z,
        f"{name}, one at a time": lambda: np.stack([prepared(*pair).z for pair in pairs]),
    }


def pymaxflow(drawn: Instances) -> dict[str, States]:
    """PyMaxflow in both of its modes."""
    cuts = capacities(drawn.unary, drawn.pairwise, drawn.edges)
    return {
        "PyMaxflow, the batch as one graph": lambda: cut_together(cuts),
        "PyMaxflow, one at a time": lambda: np.stack([cut_one(*cut) for cut in cuts]),
    }


def docplex(problem: Problem) -> np.ndarray:
    """CPLEX through docplex, as most examples call it: a model for every instance."""
    from docplex.mp.model import Model

    unary, weights, edges = (
        problem.unary[0].tolist(),
        problem.pairwise[0].tolist(),
        problem.edges.tolist(),
    )
    with Model(checker="off") as model:
        x = model.binary_var_list(problem.n)
        pairs = (weight * (x[i] * x[j]) for weight, (i, j) in zip(weights, edges, strict=True))
        model.maximize(model.scal_prod(x, unary) + model.sum(pairs))
        model.parameters.threads = 1
        model.parameters.mip.tolerances.mipgap = 0
        return np.rint(model.solve().get_value_list(x)).astype(np.int8)


def others(drawn: Instances) -> dict[str, States]:
    """Every installed peer for scores of both signs, one instance at a time, and what our backends make of the same."""
    problems = _problems(drawn)
    ways: dict[str, States] = {}
    for name in GENERAL_PEERS:
        if _installed(name):
            ways[name] = partial(
                _each, lambda problem, peer=PEERS[name]: peer.solve(problem, 60.0, 1).z, problems
            )
    if "HiGHS" in ways:
        ways["HiGHS without presolve"] = partial(
            _each, lambda problem: highs(problem, 60.0, 1, "off").z, problems
        )
    if "CPLEX" in ways and not solver_class("cplex").missing_packages():
        ways["CPLEX through docplex"] = partial(_each, docplex, problems)
    for name in WRAPPED:
        if not solver_class(name).missing_packages():
            ways[f"here, {name}"] = ours(drawn, name)[f"{name}, one at a time"]
    return ways


def measured(seed: int, rounds: int, slow_rounds: int) -> dict[str, dict[str, float]]:
    """CPU microseconds an instance, by kind of scores and way."""
    generator = np.random.default_rng(seed)
    general = instances.dense(N, BATCH, generator)
    supermodular = instances.supermodular(N, BATCH, generator)
    few = Instances(general.unary[:SLOW_BATCH], general.pairwise[:SLOW_BATCH], general.edges)
    cuts = (
        ours(supermodular, "max_flow") | ours(supermodular, "exhaustive") | pymaxflow(supermodular)
    )
    return {
        "supermodular": _timed(supermodular, cuts, rounds),
        "general": _timed(general, ours(general, "exhaustive"), rounds),
        "general, beside others": _timed(few, ours(few, "exhaustive") | others(few), slow_rounds),
    }


def _timed(drawn: Instances, ways: dict[str, States], rounds: int) -> dict[str, float]:
    problem = drawn.problem()
    best = None
    for name, way in ways.items():
        score = problem.score_flat(way().reshape(problem.batch, problem.n))
        best = score if best is None else best
        np.testing.assert_allclose(score, best, rtol=AGREE, err_msg=name)
    times = medians(
        ways, rounds, turn_seconds=TURN_SECONDS, clock=time.process_time, whole_turns=True
    )
    return {name: 1000 * value / problem.batch for name, value in times.items()}


def _backend(name: str):
    kind = solver_class(name)
    return kind(threads=1) if "threads" in kind().options() else kind()


def _installed(name: str) -> bool:
    try:
        return PEERS[name].installed
    except ModuleNotFoundError:  # a package of a package that is missing
        return False


def _problems(drawn: Instances) -> list[Problem]:
    pairs = zip(drawn.unary, drawn.pairwise, strict=True)
    return [Problem.from_arrays(u[None], w[None], edges=drawn.edges) for u, w in pairs]


def _each(solve_one: Callable[[Problem], np.ndarray], problems: list[Problem]) -> np.ndarray:
    return np.stack([solve_one(problem) for problem in problems])


def main(arguments: list[str] | None = None) -> None:
    """Prints the table and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--slow_rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path("results/fifteen_bits.json"))
    options = parser.parse_args(arguments)
    with on_cores(1):
        found = measured(options.seed, options.rounds, options.slow_rounds)
    table = Table("scores", "way", "CPU us an instance")
    for kind, times in found.items():
        for name, value in times.items():
            table.add_row(kind, name, f"{value:,.3g}")
    settings = {"n": N, "batch": BATCH, "slow_batch": SLOW_BATCH, "seed": options.seed}
    rounds = {"rounds": options.rounds, "slow_rounds": options.slow_rounds}
    with whole_file(options.output) as part:
        written = environment() | settings | rounds | {"cpu_us_an_instance": found}
        part.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
