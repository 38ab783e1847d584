"""Handwritten words and images of snakes: the accuracy of the estimators of `structured_vae.learn`.

    STRUCTURED_VAE_DATA=FOLDER python benchmarks/letters_and_snakes.py

Words are trained on fold 1 and tested on the other nine, images on their 200 and 100. C is chosen
by the accuracy on a fifth (words) or a quarter (images) of the training instances, after training
on the rest; test instances are labelled once. Every prediction has its proof. Seconds are of CPU
time, of this process and its threads, kernels being compiled before, and by the clock of the wall.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import torch
from rich.console import Console
from sklearn.exceptions import ConvergenceWarning

from benchmarks.structured_data import letters, snakes
from solvers import solver_class
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.learn import ChainCRF, ChainSSVM, GraphSSVM

Make = Callable[[float], Any]
Data = tuple[list[Any], list[np.ndarray]]

SEED = 0
PASSES = 25
VISITS = 1 << 18
"""Of a search for the labels of an image that are most wrong; the duality gap holds without their proof."""


def chain_crf(c: float) -> ChainCRF:
    """By likelihood."""
    return ChainCRF(C=c)


def chain_ssvm(c: float) -> ChainSSVM:
    """By margins."""
    return ChainSSVM(C=c, max_iter=PASSES, random_state=SEED)


def graph_ssvm(c: float) -> GraphSSVM:
    """By margins, with searches that may stop early."""
    search = solver_class("dual_ascent", "labels")(visits=VISITS)  # type: ignore[call-arg]  # it has
    return GraphSSVM(C=c, max_iter=PASSES, batch_size=8, solver=search, random_state=SEED)


OF_LETTERS: Mapping[str, tuple[Make, Sequence[float]]] = {
    "ChainCRF": (chain_crf, (0.1, 0.3, 1.0, 3.0)),
    "ChainSSVM": (chain_ssvm, (0.03, 0.1, 0.3, 1.0)),
}
OF_SNAKES: Mapping[str, tuple[Make, Sequence[float]]] = {"GraphSSVM": (graph_ssvm, (0.1, 0.3, 1.0))}


def of_letters() -> tuple[Data, Data]:
    """Training and test words."""
    pixels, own, fold = letters()
    whole = pixels, own
    return part_of(whole, np.flatnonzero(fold == 1)), part_of(whole, np.flatnonzero(fold != 1))


def part_of(data: Data, members: Sequence[int] | np.ndarray) -> Data:
    """Some instances."""
    return [data[0][i] for i in members], [data[1][i] for i in members]


def measured(model: Any, train: Data, test: Data) -> dict[str, Any]:
    """Trains, and labels what is held out."""
    clocks = [(time.process_time(), time.perf_counter())]
    model.fit(*train)
    clocks.append((time.process_time(), time.perf_counter()))
    found = model.solve(test[0])
    clocks.append((time.process_time(), time.perf_counter()))
    right = model.classes_[found.labels] == np.concatenate(test[1])
    (fit, fit_wall), (predict, predict_wall) = np.diff(clocks, axis=0).tolist()
    gap = {"gap": model.gap_} if hasattr(model, "gap_") else {}
    return {
        "C": model.C,
        "accuracy": float(right.mean()),
        "right": int(right.sum()),
        "places": len(right),
        "proved": float(found.optimal.mean()),
        "iterations": model.n_iter_,
        "objective": model.objective_,
        **gap,
        "fit_seconds": fit,
        "fit_wall_seconds": fit_wall,
        "predict_seconds": predict,
        "predict_wall_seconds": predict_wall,
    }


def row(
    make: Make, choices: Sequence[float], train: Data, test: Data, every: int
) -> dict[str, Any]:
    """What was tried on held-out training instances, and the test with what was best there."""
    count = len(train[0])
    held_out = [i for i in range(count) if i % every == 0]
    kept = [i for i in range(count) if i % every]
    make(choices[0]).set_params(max_iter=1).fit(*part_of(train, kept[:20]))  # kernels are compiled
    tried = [measured(make(c), part_of(train, kept), part_of(train, held_out)) for c in choices]
    best = max(tried, key=lambda each: each["accuracy"])["C"]
    return {"tried": tried, "test": measured(make(best), train, test)}


def main() -> None:
    """Chooses, trains, labels, and writes the records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--only", nargs="*", default=["letters", "snakes"], choices=["letters", "snakes"]
    )
    parser.add_argument("--output", type=Path, default=Path("results"), help="a folder")
    options = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)  # passes are limited on purpose
    console, made = Console(width=100), environment()
    tasks = {
        "letters": (of_letters, OF_LETTERS, 5),
        "snakes": (lambda: (snakes("train"), snakes("test")), OF_SNAKES, 4),
    }
    for task in options.only:
        read, models, every = tasks[task]
        train, test = read()
        record: dict[str, Any] = {**made, "seed": SEED, "rows": {}}
        for name, (make, choices) in models.items():
            record["rows"][name] = row(make, choices, train, test, every)
            found = record["rows"][name]["test"]
            console.print(
                f"{task}, {name}: accuracy {found['accuracy']:.4f}, C = {found['C']}, proved {found['proved']:.0%}, "
                f"{found['fit_seconds']:.1f} + {found['predict_seconds']:.1f} s"
            )
        with whole_file(options.output / f"labels_{task}.json") as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
