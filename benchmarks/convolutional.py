"""The convolutional pair beside the fully connected one: the bound at equal epochs, and the seconds that they take.

    python -m benchmarks.convolutional --output results/convolutional.json

Both have 15 bits, a general encoder, four exact samples an image and the whole bound; -log p(x) is
summed over all 32,768 states. Each pair has the learning rate and the weight of the KL at the start
whose bound on the validation images is best with the first seed, and is evaluated with them on the
test images. One thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch

from models import DiscreteVAE, convolutional_vae, paper_vae
from structured_vae import TrainConfig, evaluate_run, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

PAIRS = {"fully connected": paper_vae, "convolutional": convolutional_vae}
SETTINGS = ("learning_rate", "kl_start")
SHOWN = ("reconstruction", "kl", "bound", "minus_log_p")

BASE = TrainConfig(
    estimator="score_function",
    recipe="elbo",
    sides=1,
    rate_decay="none",
    kl_warmup=0,
    picture_every=0,
    logger="none",
)


def made(pair: str, seed: int) -> DiscreteVAE:
    """A pair with the weights that the seed gives."""
    torch.manual_seed(seed)
    return PAIRS[pair]("general", n=15)


def trained(pair: str, config: TrainConfig, data: str, folder: Path) -> dict[str, Any]:
    """A finished training, with its bound on the validation images at the best epoch; no test image is looked at."""
    model = made(pair, config.seed)
    start = time.process_time()
    run = train(config, folder, False, model=model, data=data)
    return {
        "pair": pair,
        "seed": config.seed,
        **{name: getattr(config, name) for name in SETTINGS},
        "parameters": sum(each.numel() for each in model.parameters()),
        "seconds": time.process_time() - start,
        "validation_bound": float(run.metrics["validation/bound"].min()),
    }


def judged(row: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A training with what holds of the test images at its best epoch on the validation images."""
    found = evaluate_run(folder, model=made(row["pair"], row["seed"])).quantities
    return row | {name: found[name].value for name in SHOWN}


def of(row: dict[str, Any]) -> dict[str, Any]:
    """The settings of a training."""
    return {name: row[name] for name in ("seed", *SETTINGS)}


def place(folder: str, pair: str, config: TrainConfig) -> Path:
    """The folder of a training."""
    return Path(folder) / "-".join(
        map(str, (pair, config.seed, config.learning_rate, config.kl_start))
    )


def best(rows: Iterable[dict[str, Any]], pair: str) -> dict[str, float]:
    """The settings of a pair whose bound on the validation images is lowest."""
    row = min((row for row in rows if row["pair"] == pair), key=lambda row: row["validation_bound"])
    return {name: row[name] for name in SETTINGS}


def main(arguments: list[str] | None = None) -> None:
    """Measures, and writes the record after every training."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="fashion-mnist-mini")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3])
    parser.add_argument("--rate-decay", choices=("none", "cosine"), default="cosine")
    parser.add_argument("--kl-starts", type=float, nargs="+", default=[1.0], help="see TrainConfig")
    parser.add_argument("--kl-warmup", type=int, default=2, help="epochs, see TrainConfig")
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    base = replace(
        BASE, epochs=chosen.epochs, rate_decay=chosen.rate_decay, kl_warmup=chosen.kl_warmup
    )
    record: dict[str, Any] = {
        **{name: getattr(chosen, name) for name in ("data", "epochs", "rate_decay", "kl_warmup")},
        **environment(),
        "tried": [],
        "runs": [],
    }

    def kept(where: str, row: dict[str, Any]) -> None:
        record[where].append(row)
        with whole_file(chosen.output) as part:
            part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")

    with tempfile.TemporaryDirectory() as folder:
        for pair in PAIRS:
            for setting in product(chosen.rates, chosen.kl_starts):
                config = replace(base, **dict(zip(SETTINGS, setting, strict=True)))
                kept("tried", trained(pair, config, chosen.data, place(folder, pair, config)))
        for seed in range(chosen.seeds):
            for pair in PAIRS:
                config = replace(base, seed=seed, **best(record["tried"], pair))
                where = place(folder, pair, config)
                tried = (row for row in record["tried"] if row["pair"] == pair)
                done = (
                    row for row in tried if place(folder, pair, replace(base, **of(row))) == where
                )
                row = next(done, None) or trained(pair, config, chosen.data, where)
                kept("runs", judged(row, where))


if __name__ == "__main__":
    main()
