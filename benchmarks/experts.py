"""Route to two of eight experts: `routing_weights` beside the usual softmax of the top two.

    python -m benchmarks.experts --output results/experts.json

A teacher mixes two of eight linear experts for each input. A student of the same form learns from
its outputs. What counts is the mean squared error on new inputs, where every method uses the two
experts of highest score. Every method gets the learning rate of least error with another seed. One
thread; seconds are of CPU time and of training alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch
from rich.console import Console
from rich.table import Table
from torch import nn

from structured_vae import ArgmaxLayer, KOfN, routing_weights
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

EXPERTS, CHOSEN = 8, 2
INPUTS, OUTPUTS = 6, 3
BATCH, TEST = 256, 4096
RATES = (0.01, 0.03)
SELECTION_SEED = 100
TWO = KOfN(CHOSEN)

Gate = Callable[[torch.Tensor, torch.Generator | None], torch.Tensor]
"""Scores `[batch, experts]`, and noise in training -> weights of the experts."""


def softmax_of_the_top(scores: torch.Tensor, noise: torch.Generator | None) -> torch.Tensor:
    """Return the softmax over the two highest scores (Shazeer and others 2017), in plain torch."""
    values, places = scores.topk(CHOSEN, dim=-1)
    return torch.zeros_like(scores).scatter(-1, places, values.softmax(dim=-1))


def halves(layer: ArgmaxLayer) -> Gate:
    """Return the weight one half for both experts that a layer chooses."""

    def gate(scores: torch.Tensor, noise: torch.Generator | None) -> torch.Tensor:
        return layer(scores, generator=noise) / CHOSEN

    return gate


def weighted(layer: ArgmaxLayer) -> Gate:
    """Return the routing weights of the experts that a layer chooses."""

    def gate(scores: torch.Tensor, noise: torch.Generator | None) -> torch.Tensor:
        return routing_weights(scores, layer(scores, generator=noise))

    return gate


def weighted_without_derivative(
    scores: torch.Tensor, noise: torch.Generator | None
) -> torch.Tensor:
    """Return the routing weights of the two highest scores, a choice without derivative."""
    return routing_weights(scores, TWO.argmax(scores.detach()))


def silent(gate: Gate) -> Gate:
    """Return a gate that gets no noise."""
    return lambda scores, _: gate(scores, None)


METHODS: dict[str, Callable[[], Gate]] = {
    "one half each, implicit MLE": lambda: silent(halves(ArgmaxLayer(TWO, seed=None))),
    "one half each, implicit MLE, noise": lambda: halves(ArgmaxLayer(TWO, seed=None)),
    "softmax of the top two, torch": lambda: softmax_of_the_top,
    "routing weights": lambda: weighted_without_derivative,
    "routing weights, implicit MLE": lambda: silent(weighted(ArgmaxLayer(TWO, seed=None))),
    "routing weights, implicit MLE, noise": lambda: weighted(ArgmaxLayer(TWO, seed=None)),
    "routing weights, straight-through": lambda: silent(
        weighted(ArgmaxLayer(TWO, "straight_through", seed=None))
    ),
}


def mixed(weights: torch.Tensor, x: torch.Tensor, experts: torch.Tensor) -> torch.Tensor:
    """Return the outputs `[batch, outputs]` of the weighted experts."""
    return torch.einsum("be,bi,eio->bo", weights, x, experts)


@dataclass(frozen=True)
class Teacher:
    """The router `[inputs, experts]` and experts `[experts, inputs, outputs]` to be learnt."""

    router: torch.Tensor
    experts: torch.Tensor

    @classmethod
    def drawn(cls, seed: int) -> Teacher:
        """Return a random teacher."""
        generator = torch.Generator().manual_seed(seed)
        experts = 2 * torch.randn(EXPERTS, INPUTS, OUTPUTS, generator=generator)
        return cls(torch.randn(INPUTS, EXPERTS, generator=generator), experts)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return the outputs `[batch, outputs]` of inputs `[batch, inputs]`."""
        return mixed(softmax_of_the_top(x @ self.router, None), x, self.experts)


class Student(nn.Module):
    """A router and experts, of the teacher's form."""

    def __init__(self) -> None:
        super().__init__()
        self.router = nn.Linear(INPUTS, EXPERTS)
        self.experts = nn.Parameter(0.5 * torch.randn(EXPERTS, INPUTS, OUTPUTS))

    def forward(self, x: torch.Tensor, gate: Gate, noise: torch.Generator | None) -> torch.Tensor:
        """Return the outputs `[batch, outputs]` of inputs `[batch, inputs]`."""
        return mixed(gate(self.router(x), noise), x, self.experts)


def one(make: Callable[[], Gate], rate: float, seed: int, steps: int) -> dict[str, float]:
    """Return the mean squared error of a training on new inputs, and its seconds."""
    teacher = Teacher.drawn(seed)
    torch.manual_seed(seed)
    student = Student()
    gate = make()
    noise = torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(student.parameters(), lr=rate)
    start = time.process_time()
    for _ in range(steps):
        x = torch.randn(BATCH, INPUTS)
        adam.zero_grad()
        (student(x, gate, noise) - teacher(x)).square().mean().backward()
        adam.step()
    seconds = time.process_time() - start
    x = torch.randn(TEST, INPUTS, generator=torch.Generator().manual_seed(seed + 1))
    with torch.no_grad():
        error = (student(x, gate, None) - teacher(x)).square().mean().item()
    return {"error": error, "seconds": seconds}


def compared(name: str, steps: int, seeds: list[int]) -> dict[str, Any]:
    """Return the rate of least error with the selection seed, and what it gives with the others."""
    make = METHODS[name]
    tried = {rate: one(make, rate, SELECTION_SEED, steps)["error"] for rate in RATES}
    rate = min(tried, key=lambda rate: tried[rate])
    runs = [one(make, rate, seed, steps) for seed in seeds]
    return {
        "method": name,
        "rate": rate,
        "validation": tried,
        "error": [run["error"] for run in runs],
        "seconds": [run["seconds"] for run in runs],
    }


def main(arguments: list[str] | None = None) -> None:
    """Print the table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--output", type=Path, default=Path("results/experts.json"))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    rows = [compared(name, options.steps, options.seeds) for name in METHODS]
    table = Table(title="mean squared error on new inputs")
    for column in ("", "error", "seconds"):
        table.add_column(column)
    for row in rows:
        table.add_row(row["method"], f"{mean(row['error']):.2f}", f"{mean(row['seconds']):.2f}")
    Console(width=110).print(table)
    record = {**environment(), "steps": options.steps, "seeds": options.seeds, "rows": rows}
    with whole_file(options.output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
