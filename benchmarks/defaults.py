"""How a training should be set up that nobody has set up: recipe, sides, rate and annealing, by the bound it ends at.

    python -m benchmarks.defaults --output results/defaults.json

Direct optimization on Fashion-MNIST-mini, each setting at several sizes and lengths; the bound is
that on the validation images after the last epoch, and test images are not looked at. What the
record has is not trained again.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product
from pathlib import Path
from typing import Any, Final

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.validation import complete
from structured_vae import TrainConfig
from structured_vae.schedules import ExponentialDecay

COSINE: Final[dict[str, Any]] = {
    "recipe": "elbo",
    "sides": 2,
    "rate_decay": "cosine",
    "kl_warmup": 0,
}
NO_KL: Final[dict[str, Any]] = {
    **COSINE,
    "recipe": "paper",
    "learning_rate": 2e-3,
    "epsilon": ExponentialDecay(start=0.1),
}
SETTINGS: Final[dict[str, dict[str, Any]]] = {
    "paper": {
        "recipe": "paper",
        "sides": 1,
        "rate_decay": "none",
        "epsilon": ExponentialDecay(start=1.0),
    },
    "paper, epsilon 0.1": {
        "recipe": "paper",
        "sides": 1,
        "rate_decay": "none",
        "epsilon": ExponentialDecay(start=0.1),
    },
    "two sides": {**COSINE, "learning_rate": 1e-3},
    "two sides, twice the rate": {**COSINE, "learning_rate": 2e-3},
    "two sides, twice the rate, no KL": NO_KL,
    "one side, twice the rate": {**COSINE, "sides": 1, "learning_rate": 2e-3},
    "one side, twice the rate, no KL": {**NO_KL, "sides": 1},
    **{
        f"{name}, annealed{place}": {
            **COSINE,
            "sides": sides,
            "learning_rate": 2e-3,
            "kl_start": start,
        }
        for start, place in (
            (4.0, ""),
            (2.0, " from 2"),
            (10.0, " from 10"),
            (30.0, " from 30"),
            (100.0, " from 100"),
        )
        for sides, name in ((2, "two sides"), (1, "one side"))
    },
}
"""By name; an annealed weight of the KL falls to 1 over a quarter of the epochs, from 4 where nothing is said; no KL is
the recipe of the paper in that alone."""

SIZES: Final[dict[str, dict[str, Any]]] = {
    "8 bits": {"n": 8},
    "15 bits": {"n": 15},
    "30 bits": {"n": 30},
    "10 categories": {"encoder": "categorical", "k": 10},
    "50 categories": {"encoder": "categorical", "k": 50},
}


def configured(size: str, epochs: int, setting: str, seed: int = 0) -> TrainConfig:
    """The training of a row: what the setting names, whatever the defaults are."""
    chosen = {**SIZES[size], **SETTINGS[setting]}
    if "kl_start" in chosen:
        chosen["kl_warmup"] = max(1, epochs // 4)
    return TrainConfig(
        **chosen,
        seed=seed,
        epochs=epochs,
    )


def main(arguments: list[str] | None = None) -> None:
    """Trains what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--epochs", nargs="+", type=int, default=[10, 30, 100])
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    rows = product(chosen.epochs, chosen.sizes, chosen.settings, chosen.seeds)
    complete(
        chosen.output,
        (
            (
                {"size": size, "epochs": epochs, "setting": setting, "seed": seed},
                configured(size, epochs, setting, seed),
            )
            for epochs, size, setting, seed in rows
        ),
    )


if __name__ == "__main__":
    main()
