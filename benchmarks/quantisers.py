"""Compare quantised VAEs with straight-through bits, all with codes of 64 bits and one prior.

    OMP_NUM_THREADS=1 python -m benchmarks.quantisers --output results/quantisers.json

Trains each on Fashion-MNIST with the usual options, and an autoregressive prior of codes, `made`
with 100 hidden units, that learns at the same time. Then it evaluates the best epoch on the test
images. The posterior of bits is random, so its bound is a mean over samples.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch

from structured_vae import DataConfig, TrainConfig, evaluate_run, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

PRIOR_UNITS: Final = 100
"""Hidden units of the prior."""

CODES: Final[dict[str, dict[str, Any]]] = {
    "vq": {"n": 8, "codes": 256},
    "fsq": {"n": 32, "codes": 4},
    "lfq": {"n": 64},
    "bsq": {"n": 64},
}
"""The sizes of the codes, 64 bits each, by quantiser."""

SAMPLES: Final = 10
"""Posterior samples of bits for each image; a code of a quantiser has none."""


def config_of(name: str, data: DataConfig, epochs: int, seed: int) -> TrainConfig:
    """Return the training of a quantiser, or of bits."""
    shared: dict[str, Any] = {
        "data": data,
        "epochs": epochs,
        "seed": seed,
        "evaluate_every": max(1, epochs // 2),
        "prior_hidden": PRIOR_UNITS,
        "picture_every": 0,
        "logger": "none",
        "device": "cpu",
    }
    if name == "bits":
        return TrainConfig(
            encoder="independent", n=64, estimator="straight_through", prior="made", **shared
        )
    return TrainConfig(
        model="quantised", quantiser=name, code_prior="made", **CODES[name], **shared
    )


def judged(name: str, data: DataConfig, epochs: int, seed: int) -> dict[str, Any]:
    """Train, and return the configuration with the quantities of the test images."""
    config = config_of(name, data, epochs, seed)
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        run = train(config, Path(folder) / "run", False)
        seconds = time.process_time() - start
        samples = SAMPLES if name == "bits" else None
        quantities = evaluate_run(run.folder, samples=samples).quantities
    return {
        "name": name,
        "config": config.to_dict(),
        "training_seconds": seconds,
        "standard_error": quantities["bound"].standard_error,
        **{quantity: value.value for quantity, value in quantities.items()},
    }


def main(arguments: list[str] | None = None) -> None:
    """Train and evaluate, and write the record after every run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [*CODES, "bits"]
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    record: dict[str, Any] = {**environment(), "epochs": chosen.epochs, "runs": []}
    for name in chosen.only:
        record["runs"].append(judged(name, DataConfig(chosen.data), chosen.epochs, chosen.seed))
        with whole_file(chosen.output) as unfinished:
            unfinished.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
