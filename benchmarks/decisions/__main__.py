"""Compare all methods on a task, and write the record.

    python -m benchmarks.decisions knapsack --output results/decisions/knapsack.json

Every method uses the learning rate of least regret with another seed. One thread; seconds are of
CPU time and of training alone. PyEPO's methods run in the same process, if it is installed, with
its own solver and its default settings except for the number of noise draws. Its solver's best
values must be ours. TSP and portfolios also need `pip install gurobipy`.

A task has its degrees, its number of instances and its learning rates; options replace them.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import mean
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from structured_vae.atomic import whole_file
from structured_vae.environment import environment

from . import knapsacks, matchings, of_pyepo, parallel, paths, portfolios, terrain, tours
from .ours import OURS, SUMS
from .task import SAMPLES, Task
from .training import BATCH, SELECTION_SEED, Method, Prepared, compared

TASKS: dict[str, Task] = {
    "shortest_paths": paths.TASK,
    "knapsack": knapsacks.ONE,
    "two_knapsacks": knapsacks.TWO,
    "tours": tours.TASK,
    "portfolio": portfolios.TASK,
    "terrain": terrain.TASK,
    "matchings": matchings.TASK,
}

LARGEST_DIFFERENCE = 1e-4
"""Relative difference between the best values of PyEPO's solver and ours."""


def methods_of(task: Task, prepared: Prepared) -> dict[str, Method]:
    """Return the methods that the task and the installed packages allow."""
    data = prepared.training.data
    chosen = {name: method for name, method in OURS.items() if name not in task.without}
    if not getattr(data.space, "tractable", False):
        chosen = {name: method for name, method in chosen.items() if name not in SUMS}
    if of_pyepo.WITH_PYEPO and data.model is not None:
        chosen |= of_pyepo.methods()
    return chosen


def of_degree(
    task: Task, degree: int, seeds: list[int], only: list[str] | None
) -> list[dict[str, Any]]:
    """Return a row for each method at one degree."""
    selection = Prepared(task, degree, SELECTION_SEED)
    tests = {seed: Prepared(task, degree, seed) for seed in seeds}
    rows = []
    for name, method in methods_of(task, selection).items():
        if only is not None and name not in only:
            continue
        rows.append(compared(name, method, selection, tests, task.epochs))
        regret = 100 * mean(rows[-1]["regret"])
        Console(stderr=True).print(f"degree {degree}, {name}: {regret:.2f}%")
    return rows


def of_peer(name: str, task: Task) -> dict[str, Any] | None:
    """Return the version and the solver of PyEPO, and the difference of its values from ours."""
    training = Prepared(task, task.degrees[0], SELECTION_SEED).training
    if not of_pyepo.WITH_PYEPO or training.data.model is None:
        return None
    described = {"version": version("pyepo"), "model": type(training.model).__module__}
    try:
        described["gurobipy"] = version("gurobipy")
    except PackageNotFoundError:
        described["gurobipy"] = None
    if name == "portfolio":  # the training decisions differ
        return described
    difference = of_pyepo.agreement(training)
    assert difference < LARGEST_DIFFERENCE, difference
    return described | {"values_differ_by": difference}


def shown(name: str, rows: list[dict[str, Any]]) -> Table:
    """Return a table of mean regrets by degree, and seconds of a training."""
    degrees = sorted({row["degree"] for row in rows})
    table = Table(title=f"{name}: relative regret, %")
    for column in ("", *(f"degree {degree}" for degree in degrees), "seconds"):
        table.add_column(column, justify="right" if column else "left")
    for method in dict.fromkeys(row["method"] for row in rows):
        rows_of_method = [row for row in rows if row["method"] == method]
        regrets = [f"{100 * mean(row['regret']):.2f}" for row in rows_of_method]
        seconds = mean(second for row in rows_of_method for second in row["seconds"])
        table.add_row(method, *regrets, f"{seconds:.2f}")
    return table


def chosen_task(options: argparse.Namespace) -> Task:
    """Return the task with the sizes and learning rates of the options."""
    names = ("epochs", "degrees", "train", "held_out", "rates")
    values = {name: getattr(options, name) for name in names}
    return replace(
        TASKS[options.task],
        **{name: value for name, value in values.items() if value is not None},
    )


def main(arguments: list[str] | None = None) -> None:
    """Print the table and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=TASKS)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--degrees", type=int, nargs="+")
    parser.add_argument("--train", type=int, help="number of training instances")
    parser.add_argument("--held-out", type=int, help="number of test instances")
    parser.add_argument("--rates", type=float, nargs="+", help="learning rates to choose from")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--only", nargs="+", help="names of methods")
    parser.add_argument("--parallel", action="store_true", help="only time PyEPO's processes")
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    task = chosen_task(options)
    record: dict[str, Any] = {
        **environment(),
        "task": options.task,
        "train": task.train,
        "held_out": task.held_out,
        "batch": BATCH,
        "epochs": task.epochs,
        "seeds": options.seeds,
        "samples": SAMPLES,
        "pyepo": of_peer(options.task, task),
    }
    if options.parallel:
        record["rows"] = parallel.measured(Prepared(task, task.degrees[0], SELECTION_SEED))
    else:
        record["rows"] = [
            row
            for degree in task.degrees
            for row in of_degree(task, degree, options.seeds, options.only)
        ]
        Console(width=110).print(shown(options.task, record["rows"]))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(options.output) as part:
        part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
