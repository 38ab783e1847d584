"""What a prior that is learnt gives: the valid bound and -log p(x) beside those of the uniform prior, at equal epochs.

    STRUCTURED_VAE_DATA=... python -m benchmarks.learnt_prior --output results/learnt_prior.json

Fifteen general bits, four exact samples an image and the whole bound; log Z of the prior, and -log
p(x), are sums over all 32,768 states. The networks begin with the same weights. One thread; minutes
are of CPU time, of training alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch

from structured_vae import TrainConfig, evaluate_run, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

PRIORS = ("uniform", "factorised", "gibbs")
SHOWN = ("reconstruction", "kl", "bound", "minus_log_p")

BASE = TrainConfig(
    estimator="score_function",
    recipe="elbo",
    sides=1,
    rate_decay="cosine",
    kl_warmup=0,
    learning_rate=1e-3,
    picture_every=0,
    logger="none",
)


def measured(config: TrainConfig) -> dict[str, Any]:
    """A training, evaluated on the test images at its end."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        run = train(config, Path(folder) / "run", False)
        minutes = (time.process_time() - start) / 60
        found = evaluate_run(run.folder, which="last").quantities
    kinds = {f"{name}_is": found[name].kind for name in SHOWN}
    return {
        "prior": config.prior,
        "seed": config.seed,
        "minutes": minutes,
        **{name: found[name].value for name in SHOWN},
        **kinds,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measures, and writes the record after every training."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="fashion-mnist")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--n", type=int, default=15)
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    names = ("data", "epochs", "rate", "n")
    record: dict[str, Any] = {
        **{name: getattr(chosen, name) for name in names},
        **environment(),
        "runs": [],
    }
    for seed in chosen.seeds:
        for prior in PRIORS:
            config = replace(
                BASE, prior=prior, seed=seed, n=chosen.n, epochs=chosen.epochs, evaluate_every=chosen.epochs,
                learning_rate=chosen.rate, data=replace(BASE.data, name=chosen.data),
            )  # fmt: skip
            record["runs"].append(measured(config))
            with whole_file(chosen.output) as part:
                part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
