"""One call of `solve` and of what `prepare` gives, and batches, beside PyMaxflow and numpy.

    pip install -e '.[benchmarks]'
    python benchmarks/one_call.py --output results/one_call.json

Times are medians of CPU time in microseconds, one process, turn by turn, one thread; a call for one
instance, and an instance for batches. PyMaxflow has its capacities ready. A ratio is the peer's
time over ours. Scores are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import medians, on_cores
from benchmarks.peers import capacities, cut_one, cut_together
from benchmarks.tasks import chain
from solvers import instances, prepare, solve, solver_class
from solvers.instances import Instances
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

TURN_SECONDS = 0.005
AGREE = 1e-9

States = Callable[[], np.ndarray]


@dataclass(frozen=True)
class Row:
    """Ways to the maximisers `[batch, n]` of the same instances.

    Attributes:
        name: of the instances.
        drawn: the instances.
        ways: by name; the last is the peer.
    """

    name: str
    drawn: Instances
    ways: dict[str, States]

    def check(self) -> None:
        """Raises AssertionError where two ways find different scores."""
        problem = self.drawn.problem()
        scores = [
            problem.score_flat(way().reshape(problem.batch, problem.n))
            for way in self.ways.values()
        ]
        for score in scores[1:]:
            assert np.allclose(scores[0], score, rtol=AGREE, atol=AGREE), self.name


def viterbi(drawn: Instances) -> np.ndarray:
    """`[batch, n]`: the maximisers of chains, variable by variable for the whole batch at once."""
    unary, pairwise = np.ascontiguousarray(drawn.unary.T), np.ascontiguousarray(drawn.pairwise.T)
    n, batch = unary.shape
    before = np.empty((n, 2, batch), np.bool_)
    zero, one = np.zeros(batch), unary[0]
    for i in range(1, n):
        both = one + pairwise[i - 1]
        np.greater(one, zero, out=before[i, 0])
        np.greater(both, zero, out=before[i, 1])
        zero, one = np.maximum(zero, one), np.maximum(zero, both) + unary[i]
    z = np.empty((n, batch), np.int8)
    z[-1] = one > zero
    for i in range(n - 1, 0, -1):
        z[i - 1] = np.where(z[i], before[i, 1], before[i, 0])
    return z.T


def enumeration(drawn: Instances) -> States:
    """All states of every instance scored by one matrix product; the states and pairs are ready."""
    n = drawn.unary.shape[1]
    states = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.int8)
    terms = np.concatenate([states, states[:, drawn.edges].all(axis=2)], axis=1).T.astype(float)

    def maximisers() -> np.ndarray:
        scores = np.concatenate([drawn.unary, drawn.pairwise], axis=1) @ terms
        return states[scores.argmax(axis=1)]

    return maximisers


def _one(drawn: Instances, solver: str) -> dict[str, States]:
    unary, pairwise, edges = drawn.unary[0], drawn.pairwise[0], drawn.edges
    prepared = prepare(edges, len(unary), solver=solver)
    return {
        "solve": lambda: solve(unary, pairwise, edges=edges, solver=solver).z,
        "prepared": lambda: prepared(unary, pairwise).z,
    }


def _batch(drawn: Instances, name: str) -> dict[str, States]:
    prepared = prepare(drawn.edges, drawn.unary.shape[1], solver=solver_class(name)(threads=1))
    return {"prepared": lambda: prepared(drawn.unary, drawn.pairwise).z}


def _cuts(drawn: Instances) -> dict[str, States]:
    """PyMaxflow with capacities that are ready: a batch as one graph too; one graph for each instance is the last."""
    cuts = capacities(drawn.unary, drawn.pairwise, drawn.edges)
    ways: dict[str, States] = {"PyMaxflow": lambda: np.array([cut_one(*cut) for cut in cuts])}
    if len(cuts) > 1:
        ways = {"PyMaxflow, one graph": lambda: cut_together(cuts)} | ways
    return ways


def rows(seed: int = 0) -> list[Row]:
    """What is timed, the same for a seed."""
    generator = np.random.default_rng(seed)
    found = [Row("dense n=15", drawn := instances.dense(15, 1, generator), _one(drawn, "auto"))]
    drawn = instances.supermodular(15, 1, generator)
    found.append(Row("cut n=15, dense", drawn, _one(drawn, "max_flow") | _cuts(drawn)))
    drawn = instances.supermodular(40, 1, generator)
    found.append(Row("cut n=40, dense", drawn, _one(drawn, "auto") | _cuts(drawn)))
    drawn = instances.grid(5, 8, 1, generator)
    found.append(Row("cut n=40, grid", drawn, _one(drawn, "max_flow") | _cuts(drawn)))
    drawn = chain(40, 1, generator)
    found.append(
        Row("chain n=40", drawn, _one(drawn, "auto") | {"Viterbi in numpy": _viterbi_of(drawn)})
    )
    drawn = instances.grid(20, 20, 64, generator)
    found.append(Row("grids 20x20, batch 64", drawn, _batch(drawn, "max_flow") | _cuts(drawn)))
    for batch in (1000, 10_000):
        drawn = instances.dense(5, batch, generator)
        ways = _batch(drawn, "exhaustive") | {"enumeration in numpy": enumeration(drawn)}
        found.append(Row(f"dense n=5, batch {batch}", drawn, ways))
    for batch in (100, 1000):
        drawn = chain(200, batch, generator)
        ways = _batch(drawn, "elimination") | {"Viterbi in numpy": _viterbi_of(drawn)}
        found.append(Row(f"chains n=200, batch {batch}", drawn, ways))
    return found


def _viterbi_of(drawn: Instances) -> States:
    return lambda: viterbi(drawn)


def measured(row: Row, rounds: int) -> dict[str, float]:
    """Microseconds an instance of every way, once all agree."""
    with on_cores(1):
        row.check()
        clock = time.process_time
        times = medians(row.ways, rounds, turn_seconds=TURN_SECONDS, clock=clock, whole_turns=True)
    return {name: 1000 * taken / len(row.drawn.unary) for name, taken in times.items()}


def main(arguments: list[str] | None = None) -> None:
    """Prints the table and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--output", type=Path, default=Path("results/one_call.json"))
    options = parser.parse_args(arguments)
    table, record = Table("instances", "way", "microseconds", "the last over this"), {}
    for row in rows():
        record[row.name] = times = measured(row, options.rounds)
        last = list(times.values())[-1]
        for name, taken in times.items():
            table.add_row(row.name, name, f"{taken:.3g}", f"{last / taken:.2f}")
        table.add_section()
    with whole_file(options.output) as part:
        written = environment() | {"rounds": options.rounds, "microseconds": record}
        part.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
