"""What a training step costs on a GPU: step by step, as a CUDA graph, and in a whole training.

    python benchmarks/gpu_steps.py --output results/gpu_steps.json

A step is loss, backward pass and Adam for a batch of 100 images, as `structured-vae train` does it.
The first two are medians, measured turn by turn in this process. The third is the time of an epoch
of the training over its steps; data, Lightning and metrics are in it.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import medians
from structured_vae import TrainConfig, load_dataset, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.runs import Run
from structured_vae.runs.assembly import initialised, training_of
from structured_vae.training.graphed_step import GraphedStep

BATCH = 100
EPOCHS = 6
INDEPENDENT: dict[str, Any] = {"encoder": "independent"}
CHAIN: dict[str, Any] = {"encoder": "general", "bandwidth": 1, "n": 50}
MANY: dict[str, Any] = {
    "encoder": "independent",
    "n": 200,
    "recipe": "elbo",
    "estimator": "straight_through",
    "temperature": 1.0,
}
LABELS: dict[str, Any] = {"encoder": "categorical", "variables": 5, "k": 8}
CASES: dict[str, dict[str, Any]] = {
    "15 independent bits, direct": INDEPENDENT,
    "15 independent bits, two-sided direct": {**INDEPENDENT, "sides": 2},
    "15 independent bits, RAM": {**INDEPENDENT, "estimator": "ram"},
    "15 independent bits, score function": {**INDEPENDENT, "estimator": "score_function"},
    "15 supermodular bits, direct": {"encoder": "supermodular"},
    "15 coupled bits, direct": {},
    "15 coupled bits, two-sided direct": {"sides": 2},
    "15 coupled bits, RAM": {"estimator": "ram"},
    "15 coupled bits, score function": {"estimator": "score_function"},
    "50 bits on a chain, two-sided direct": {**CHAIN, "sides": 2},
    "50 bits on a chain, RAM": {**CHAIN, "estimator": "ram"},
    "50 bits on a chain, score function": {**CHAIN, "estimator": "score_function"},
    "10 categories, direct": {"encoder": "categorical", "k": 10},
    "10 categories, exact": {"encoder": "categorical", "k": 10, "estimator": "exact"},
    "5 variables of 8 values, direct": LABELS,
    "5 variables of 8 values, RAM": {**LABELS, "estimator": "ram"},
    "200 independent bits, straight-through": MANY,
    "200 independent bits, straight-through, MADE prior": {**MANY, "prior": "made"},
    "400 independent bits, ReinMax, MADE prior": {
        **MANY,
        "n": 400,
        "estimator": "reinmax",
        "prior": "made",
    },
    "Gaussian of 50 dimensions, MADE prior": {"model": "gaussian", "n": 50, "prior": "made"},
}


def config_of(options: dict[str, Any]) -> TrainConfig:
    """Return the configuration of a case."""
    return TrainConfig(device="cuda", epochs=EPOCHS, picture_every=0, logger="none", **options)


def steps_of(config: TrainConfig, x: torch.Tensor) -> dict[str, Callable[[], None]]:
    """Return the step of a training as such, and as a graph if it can be one."""
    training = training_of(config, initialised(config, x.shape[1])).to(x.device)
    training._noise = torch.Generator(x.device).manual_seed(0)
    adam = training.configure_optimizers()

    def step_by_step() -> None:
        loss = training.loss(x)
        adam.zero_grad()
        loss.backward()
        adam.step()
        torch.cuda.synchronize()

    steps: dict[str, Callable[[], None]] = {"step by step": step_by_step}
    recorded = GraphedStep(training._loss, training, training._noise)
    constants = training._constants()
    if constants is None or recorded([x], constants) is None:
        return steps

    def as_graph() -> None:
        recorded([x], constants)
        adam.step()
        torch.cuda.synchronize()

    return {**steps, "as a graph": as_graph}


def training_time(config: TrainConfig) -> float:
    """Return the milliseconds a step of a whole training, the median of its epochs."""
    with tempfile.TemporaryDirectory() as folder:
        train(config, Path(folder) / "run", progress=False)
        return float(np.median(Run(Path(folder) / "run").metrics["ms_per_step"]))


def main() -> None:
    """Measure, print a table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--output", type=Path, default=Path("results/gpu_steps.json"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    images = load_dataset("fashion-mnist-mini").train.images[:BATCH]
    x = torch.from_numpy(images).float().to("cuda")
    rows = Table(title="milliseconds a step")
    for column in ("", "step by step", "as a graph", "in a training"):
        rows.add_column(column, justify="left" if not column else "right")
    times: dict[str, dict[str, float]] = {}
    for name, case in CASES.items():
        config = config_of(case)
        measured = medians(steps_of(config, x), options.rounds)
        times[name] = {**measured, "in a training": training_time(config)}
        columns = ("step by step", "as a graph", "in a training")
        rows.add_row(name, *(f"{times[name].get(column, float('nan')):.2f}" for column in columns))
    Console().print(rows)
    record = environment() | {"device": "cuda", "batch": BATCH, "ms_a_step": times}
    with whole_file(options.output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
