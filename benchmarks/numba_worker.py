"""Time calls of one checkout's solvers, as the worker process of `beside_numba.py`.

    python benchmarks/numba_worker.py CHECKOUT REGEX

The first line that it writes has the tasks whose names match REGEX, and their results. Then each
line that it reads is JSON with the name of a task and seconds. It runs that task for at least these
seconds of CPU time, and writes the mean number of microseconds per call.

Both checkouts run this file, so a task uses only calls that they have in common. Each task is chosen
so that the kernels of one folder take most of its time.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable

# The folder of this file has a solvers.py, which would hide the package `solvers`.
if not __package__:
    sys.path[0] = sys.argv[1]

import networkx as nx
import numpy as np

from solvers import Deadline, Problem, gibbs, prepare, solve, solver_class, uniforms_shape
from solvers.algorithms.local_search.subgraph_moves import SubgraphMoves
from solvers.algorithms.presolve.roof_duality import roof_duality
from solvers.constraints import cardinality
from solvers.labels import gibbs as label_gibbs
from solvers.labels import solve as solve_labels
from solvers.labels.backends.dual_ascent import DualAscent
from solvers.labels.backends.expansion_moves import ExpansionMoves

Call = Callable[[], np.ndarray]


def _chain(n: int) -> np.ndarray:
    return np.stack((np.arange(n - 1), np.arange(1, n)), axis=1)


def _pairs(n: int) -> np.ndarray:
    return np.stack(np.triu_indices(n, 1), axis=1)


def _grid(rows: int, columns: int) -> np.ndarray:
    place = np.arange(rows * columns).reshape(rows, columns)
    across = np.stack((place[:, :-1].ravel(), place[:, 1:].ravel()), axis=1)
    down = np.stack((place[:-1].ravel(), place[1:].ravel()), axis=1)
    return np.concatenate((across, down))


def _cubic(n: int, seed: int) -> np.ndarray:
    graph = nx.random_regular_graph(3, n, seed)
    return np.sort(np.array(graph.edges), axis=1)


def _scores(batch: int, n: int, edges: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return normal scores, unary `[batch, n]` and pairwise `[batch, e]`."""
    random = np.random.default_rng(seed)
    unary = random.normal(size=(batch, n))
    return unary, random.normal(size=(batch, len(edges)))


def _solve(batch: int, n: int, edges: np.ndarray, name: str, **options: object) -> Call:
    """Return a call of one solver, on one thread, that gives the scores of its states."""
    unary, pairwise = _scores(batch, n, edges)
    prepared = prepare(edges, n, solver=solver_class(name)(threads=1, **options))
    return lambda: prepared(unary, pairwise).score


def _cuts(n: int, edges: np.ndarray, batch: int, balanced: bool) -> Call:
    """Return a call of `max_flow`; balanced unary scores make the cuts hard."""
    unary, pairwise = _scores(batch, n, edges)
    pairwise = np.abs(pairwise)
    if balanced:
        for end in edges.T:
            np.add.at(unary.T, end, -pairwise.T / 2)
    prepared = prepare(edges, n, solver=solver_class("max_flow")(threads=1))
    return lambda: prepared(unary, pairwise).score


def _spins(n: int, edges: np.ndarray, name: str, couplings: np.ndarray, **options: object) -> Call:
    """Return a call of a search for the ground state of a spin glass without a field."""
    pairwise = 2 * couplings
    unary = -np.bincount(edges.ravel(), np.repeat(couplings, 2), n)
    solver = solver_class(name)(**options)
    return lambda: solve(unary, pairwise, edges=edges, solver=solver).score


def _signs(count: int) -> np.ndarray:
    return np.random.default_rng(0).choice([-1.0, 1.0], count)


def _orders() -> Call:
    """Return a call that eliminates a graph in another numbering each time."""
    edges = _cubic(60, 0)
    unary, pairwise = _scores(1, 60, edges)
    solver = solver_class("elimination")(threads=1)
    random = np.random.default_rng(0)

    def call() -> np.ndarray:
        number = random.permutation(60)
        renumbered = np.sort(number[edges], axis=1)
        permuted = np.empty_like(unary)
        permuted[:, number] = unary
        return solve(permuted, pairwise, edges=renumbered, solver=solver).score

    return call


def _ranked(n: int, edges: np.ndarray, name: str, count: int) -> Call:
    unary, pairwise = _scores(1, n, edges)
    solver = solver_class(name)(threads=1)
    return lambda: solve(unary, pairwise, edges=edges, solver=solver, k_best=count).score


def _counted() -> Call:
    edges = _chain(300)
    unary, pairwise = _scores(1, 300, edges)
    solver = solver_class("elimination")(threads=1)
    return lambda: (
        solve(
            unary[0], pairwise[0], edges=edges, solver=solver, constraints=[cardinality(100)]
        ).score
    )


def _low_rank() -> Call:
    """Return a call of branch and bound on pairs whose matrix has rank 5."""
    random = np.random.default_rng(0)
    factors = random.normal(size=(60, 5))
    matrix = np.triu(2 * factors @ factors.T, 1)
    unary = 3 * random.normal(size=60) - matrix.sum(axis=0) / 2 - matrix.sum(axis=1) / 2
    solver = solver_class("branch_and_bound")()
    return lambda: solve(unary, matrix, solver=solver).score


def _subgraphs() -> Call:
    edges = _grid(50, 50)
    unary, pairwise = _scores(1, 2500, edges)
    problem = Problem.from_arrays(unary, pairwise, edges=edges)

    def call() -> np.ndarray:
        moves = SubgraphMoves(problem, np.random.default_rng(0))
        z = moves.improved(np.zeros(2500, np.int8), Deadline.after(None))
        return problem.score(z[None])

    return call


def _roof(n: int, edges: np.ndarray) -> Call:
    unary, pairwise = _scores(1, n, edges)
    problem = Problem.from_arrays(2 * unary, pairwise, edges=edges)
    return lambda: roof_duality(problem).bound


def _sums(batch: int, n: int, edges: np.ndarray, samples: int = 0) -> Call:
    unary, pairwise = _scores(batch, n, edges)
    if not samples:
        return lambda: gibbs(unary, pairwise, edges=edges, threads=1).log_partition
    problem = Problem.from_arrays(unary, pairwise, edges=edges)
    shape = uniforms_shape(problem, samples)
    uniforms = np.random.default_rng(1).random(shape)
    result = gibbs(unary, pairwise, edges=edges, threads=1)
    return lambda: result.sample(uniforms, threads=1).sum()


def _completed(batch: int, n: int, edges: np.ndarray) -> Call:
    unary, pairwise = _scores(batch, n, edges)
    result = gibbs(unary, pairwise, edges=edges, threads=1)
    uniforms = np.random.default_rng(1).random((4, batch, n))
    return lambda: result.completions(uniforms, threads=1).conditionals


def _covariances(batch: int, n: int, edges: np.ndarray) -> Call:
    unary, pairwise = _scores(batch, n, edges)
    result = gibbs(unary, pairwise, edges=edges, threads=1)
    direction = _scores(batch, n, edges, 1)
    return lambda: result.covariance_product(*direction, threads=1)[0]


def _label_scores(batch: int, n: int, k: int, edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    unary = random.normal(size=(batch, n, k))
    return unary, random.normal(size=(batch, len(edges), k, k))


def _labels(batch: int, n: int, k: int, edges: np.ndarray, solver: object) -> Call:
    unary, tables = _label_scores(batch, n, k, edges)
    return lambda: solve_labels(unary, tables, edges=edges, solver=solver).score


def _label_sums(batch: int, n: int, k: int, edges: np.ndarray, method: str) -> Call:
    unary, tables = _label_scores(batch, n, k, edges)
    return lambda: label_gibbs(unary, tables, edges=edges, method=method).log_partition


def _potts() -> Call:
    edges = _grid(24, 24)
    random = np.random.default_rng(0)
    unary = random.normal(size=(576, 5))
    solver = ExpansionMoves()
    return lambda: solve_labels(unary, potts=0.5, edges=edges, solver=solver).score


TASKS: dict[str, Callable[[], Call]] = {
    "exhaustive: n=15, batch 100": lambda: _solve(100, 15, _pairs(15), "exhaustive"),
    "exhaustive: n=20, batch 5": lambda: _solve(5, 20, _pairs(20), "exhaustive"),
    "exhaustive: 10 best states, n=20": lambda: _ranked(20, _pairs(20), "exhaustive", 10),
    "elimination: chains n=200, batch 100": lambda: _solve(100, 200, _chain(200), "elimination"),
    "elimination: grid 12x12": lambda: _solve(1, 144, _grid(12, 12), "elimination"),
    "elimination: grids 12x12, batch 16": lambda: _solve(16, 144, _grid(12, 12), "elimination"),
    "elimination: a new graph per call": _orders,
    "elimination: 10 best states, chain n=2000": lambda: _ranked(
        2000, _chain(2000), "elimination", 10
    ),
    "elimination: chain n=300 with a count": _counted,
    "max_flow: dense n=40, batch 100": lambda: _cuts(40, _pairs(40), 100, True),
    "max_flow: dense n=150, batch 10": lambda: _cuts(150, _pairs(150), 10, True),
    "max_flow: hard grids 20x20, batch 64": lambda: _cuts(400, _grid(20, 20), 64, True),
    "max_flow: easy grids 20x20, batch 64": lambda: _cuts(400, _grid(20, 20), 64, False),
    "max_flow: one hard grid 20x20": lambda: _cuts(400, _grid(20, 20), 1, True),
    "max_flow: one easy grid 20x20": lambda: _cuts(400, _grid(20, 20), 1, False),
    "max_flow: one hard grid 150x150": lambda: _cuts(22500, _grid(150, 150), 1, True),
    "local_search: dense n=300, 40 runs": lambda: _solve(
        1, 300, _pairs(300), "local_search", starts=40
    ),
    "local_search: grid 40x40": lambda: _solve(1, 1600, _grid(40, 40), "local_search"),
    "local_search: moves of subgraphs": _subgraphs,
    "branch_and_bound: dense n=60": lambda: _solve(1, 60, _pairs(60), "branch_and_bound"),
    "branch_and_bound: +-1, n=50": lambda: _spins(50, _pairs(50), "branch_and_bound", _signs(1225)),
    "branch_and_bound: rank 5, n=60": _low_rank,
    "dual_ascent: 100 of degree 3": lambda: _solve(1, 100, _cubic(100, 0), "dual_ascent"),
    "mini_buckets: dense n=30": lambda: _solve(1, 30, _pairs(30), "mini_buckets"),
    "cycle_cuts: +-1, 200 of degree 3": lambda: _spins(
        200, _cubic(200, 0), "cycle_cuts", _signs(300), threads=1
    ),
    "presolve: roof duality, 2000 of degree 3": lambda: _roof(2000, _cubic(2000, 0)),
    "presolve: roof duality, dense n=300": lambda: _roof(300, _pairs(300)),
    "gibbs: n=15, batch 20": lambda: _sums(20, 15, _pairs(15)),
    "gibbs: samples, n=15, batch 20": lambda: _sums(20, 15, _pairs(15), 100),
    "gibbs: completions, n=12, batch 20": lambda: _completed(20, 12, _pairs(12)),
    "gibbs: covariances, n=15, batch 20": lambda: _covariances(20, 15, _pairs(15)),
    "gibbs: grids 10x10, batch 8": lambda: _sums(8, 100, _grid(10, 10)),
    "gibbs: samples, grids 10x10, batch 8": lambda: _sums(8, 100, _grid(10, 10), 100),
    "gibbs: completions, chains n=50, batch 8": lambda: _completed(8, 50, _chain(50)),
    "gibbs: covariances, grids 10x10, batch 8": lambda: _covariances(8, 100, _grid(10, 10)),
    "labels: chains n=50, k=5, batch 100": lambda: _labels(100, 50, 5, _chain(50), "auto"),
    "labels: dual ascent, grid 10x10, k=4": lambda: _labels(1, 100, 4, _grid(10, 10), DualAscent()),
    "labels: expansion moves, grid 24x24, k=5": _potts,
    "labels: reweighted messages, grid 8x8, k=4": lambda: _label_sums(1, 64, 4, _grid(8, 8), "trw"),
    "labels: mean field, grid 8x8, k=4": lambda: _label_sums(1, 64, 4, _grid(8, 8), "mean_field"),
}


def _timed(call: Call, seconds: float) -> float:
    """Return the mean microseconds of CPU time per call, in calls for at least these seconds."""
    begin = time.process_time()
    count = 0
    taken = 0.0
    while not count or taken < seconds:
        call()
        count += 1
        taken = time.process_time() - begin
    return 1e6 * taken / count


def main() -> None:
    """Answer lines until the input ends."""
    calls = {}
    results = {}
    for name, build in TASKS.items():
        if re.search(sys.argv[2], name):
            calls[name] = build()
            results[name] = float(np.sum(calls[name]()))
    print(json.dumps(results), flush=True)
    for line in sys.stdin:
        name, seconds = json.loads(line)
        print(_timed(calls[name], seconds), flush=True)


if __name__ == "__main__":
    main()
