"""What a structured posterior costs: training steps of three encoders, and the argmax alone.

    python benchmarks/training_step.py --output results/training_step.json

Every comparison is a ratio of medians, measured turn by turn in this process.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import maxflow
import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import Contender, medians
from models import paper_vae
from solvers import Solution, instances, solve, solver_class
from structured_vae import Direct, Reconstruction, load_dataset
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.runs.trainer.allocator import keep_freed_buffers

BATCH, N = 100, 15
PAIRS = {"independent": "independent", "supermodular": "max_flow", "general": "exhaustive"}


def training_step(encoder: str, solver: str, x: torch.Tensor) -> Contender:
    """One step of direct optimization: two argmaxes, n + 1 decodes, backward, Adam."""
    torch.manual_seed(0)
    vae = paper_vae(encoder, n=N)
    adam = torch.optim.Adam(vae.parameters(), lr=1e-3, fused=True)
    estimator = Direct(solver_class(solver)())
    noise = torch.Generator().manual_seed(0)

    def step() -> None:
        estimate = estimator(vae.encoder(x), Reconstruction(vae.decoder, x), noise)
        adam.zero_grad()
        estimate.surrogate.mean().backward()
        adam.step()

    return step


def pymaxflow_one_by_one(
    unary: np.ndarray, pairwise: np.ndarray, edges: np.ndarray
) -> list[np.ndarray]:
    """What a user of PyMaxflow writes: a graph for every instance."""
    answers = []
    for scores, weights in zip(unary, pairwise, strict=True):
        terminal = scores.copy()
        np.add.at(terminal, edges[:, 0], weights / 2)
        np.add.at(terminal, edges[:, 1], weights / 2)
        graph = maxflow.Graph[float](len(scores), len(edges))
        nodes = graph.add_nodes(len(scores))
        graph.add_grid_tedges(nodes, np.maximum(terminal, 0), np.maximum(-terminal, 0))
        graph.add_edges(edges[:, 0], edges[:, 1], weights / 2, weights / 2)
        graph.maxflow()
        answers.append(~graph.get_grid_segments(nodes))
    return answers


def step_times(rounds: int) -> dict[str, float]:
    """Milliseconds a step of each encoder."""
    images = load_dataset("fashion-mnist-mini").train.images[:BATCH]
    x = torch.from_numpy(images)
    return medians({name: training_step(name, solver, x) for name, solver in PAIRS.items()}, rounds)


def minimum_cuts(rounds: int) -> dict[str, float]:
    """CPU microseconds an instance of all that takes supermodular scores, beside each other."""
    drawn = instances.supermodular(N, BATCH, np.random.default_rng(0))
    calls = {name: call_of(drawn, name) for name in ("max_flow", "exhaustive", "pymaxflow")}
    scores = [call().score for call in calls.values()]
    for score in scores[1:]:
        np.testing.assert_allclose(score, scores[0], rtol=1e-6)
    calls_of_all = calls | {"PyMaxflow one by one": partial(pymaxflow_one_by_one, *single(drawn))}
    times = medians(calls_of_all, rounds, clock=time.process_time)
    return {name: 1000 * value / BATCH for name, value in times.items()}


def add_minimum_cuts(output: Path, rounds: int) -> None:
    """Writes `minimum_cuts` into a record that is there, with the commit of now."""
    record = json.loads(output.read_text(encoding="utf-8"))
    found = {
        "commit": environment()["commit"],
        "rounds": rounds,
        "cpu_us_an_instance": minimum_cuts(rounds),
    }
    with whole_file(output) as part:
        part.write_text(
            json.dumps(record | {"minimum_cuts": found}, indent=1) + "\n", encoding="utf-8"
        )


def solve_times(rounds: int) -> dict[str, float]:
    """Microseconds an instance of our backends and of PyMaxflow, batch 100, dense n = 15.

    Other people's solvers for scores of both signs are timed by `benchmarks/fifteen_bits.py`.
    """
    generator = np.random.default_rng(0)
    supermodular, general = (
        family(N, BATCH, generator) for family in (instances.supermodular, instances.dense)
    )
    fast = {
        "supermodular: max_flow": call_of(supermodular, "max_flow"),
        "supermodular: exhaustive": call_of(supermodular, "exhaustive"),
        "supermodular: pymaxflow, the batch as one graph": call_of(supermodular, "pymaxflow"),
        "supermodular: PyMaxflow one by one": partial(pymaxflow_one_by_one, *single(supermodular)),
        "general: exhaustive": call_of(general, "exhaustive"),
    }
    times = medians(fast, rounds)
    return {name: 1000 * value / BATCH for name, value in times.items()}


def single(drawn: instances.Instances) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unary and pairwise scores in float32, as an encoder gives them, and the edges."""
    return drawn.unary.astype(np.float32), drawn.pairwise.astype(np.float32), drawn.edges


def call_of(drawn: instances.Instances, name: str) -> Callable[[], Solution]:
    """One call of `solve` on the whole batch."""
    unary, pairwise, edges = single(drawn)
    return partial(solve, unary, pairwise, edges=edges, solver=name)


def table(title: str, unit: str, times: dict[str, float], reference: str) -> Table:
    """Medians and their ratios to a reference."""
    rows = Table(title=title)
    for column in ("", unit, f"ratio to {reference}"):
        rows.add_column(column, justify="left" if not column else "right")
    for name, value in times.items():
        rows.add_row(name, f"{value:,.3g}", f"{value / times[reference]:,.3g}")
    return rows


def main() -> None:
    """Prints two tables and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("results/training_step.json"))
    parser.add_argument(
        "--minimum_cuts", action="store_true", help="these alone, into a record that is there"
    )
    options = parser.parse_args()
    if options.minimum_cuts:
        add_minimum_cuts(options.output, options.rounds)
        return
    keep_freed_buffers()  # as a training does
    steps = step_times(options.rounds)
    console = Console(width=100)
    console.print(table(f"training step, n = {N}, batch {BATCH}", "ms", steps, "independent"))
    threads = torch.get_num_threads()
    record = {**environment(), "threads": threads, "batch": BATCH, "n": N}
    record |= {"ms_a_step": steps, "rounds": options.rounds}
    solves = solve_times(options.rounds)
    record["us_an_instance"] = solves
    console.print(
        table(
            f"argmax alone, n = {N}, batch {BATCH}",
            "us an instance",
            solves,
            "general: exhaustive",
        )
    )
    with whole_file(options.output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {options.output}")


if __name__ == "__main__":
    main()
