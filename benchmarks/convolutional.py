"""The convolutional pair beside the fully connected one: the bound at equal epochs, and the seconds that they take.

    python -m benchmarks.convolutional --output results/convolutional.json

Both have 15 bits, a general encoder, four exact samples an image and the whole bound; -log p(x) is summed over all
32,768 states. One thread.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from models import DiscreteVAE, convolutional_vae, paper_vae
from structured_vae import TrainConfig, evaluate_run, train
from structured_vae.environment import environment

PAIRS = {"fully connected": paper_vae, "convolutional": convolutional_vae}
SHOWN = ("reconstruction", "kl", "bound", "minus_log_p")


def made(pair: str, seed: int) -> DiscreteVAE:
    """A pair with the weights that the seed gives."""
    torch.manual_seed(seed)
    return PAIRS[pair]("general", n=15)


def measured(pair: str, seed: int, data: str, epochs: int, rate: float) -> dict[str, Any]:
    """One training, evaluated on the test images at its best epoch on the validation images."""
    model = made(pair, seed)
    config = TrainConfig(
        estimator="score_function", recipe="elbo", learning_rate=rate, epochs=epochs, seed=seed
    )
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        run = train(
            config, Path(folder) / "run", False, model=model, data=data, picture_every=0, logger="none"
        )
        seconds = time.perf_counter() - start
        found = evaluate_run(run.folder, model=model).quantities
    return {
        "pair": pair,
        "seed": seed,
        "learning_rate": rate,
        "parameters": sum(each.numel() for each in model.parameters()),
        "seconds": seconds,
        **{name: found[name].value for name in SHOWN},
    }


def main() -> None:
    """Measures, and writes the record after every training."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default="fashion-mnist-mini")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3])
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    runs: list[dict[str, Any]] = []
    for seed in range(chosen.seeds):
        for rate in chosen.rates:
            for pair in PAIRS:
                runs.append(measured(pair, seed, chosen.data, chosen.epochs, rate))
                record = {"data": chosen.data, "epochs": chosen.epochs, **environment(), "runs": runs}
                chosen.output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
