"""Gradient estimators by the protocol that their field compares them with: 200 bits, two hidden layers of 200 units.

    STRUCTURED_VAE_DATA=... python -m benchmarks.two_hundred_bits --runs FOLDER --output
    results/two_hundred_bits.json

Networks 784-200-200-200 and 200-200-200-784 with LeakyReLU, images binarised anew in every step,
batches of 50, Adam at a constant rate, 100,000 steps, the exact KL to uniform bits. Independent
bits, and for one estimator bits on a chain. An estimate decodes as many states as its row says.
Along the way: bounds of the validation and test images by one sample, and the variance of the
gradient of the reconstruction in the scores, of 50 validation images. At the end, of the epoch
whose validation bound is best: the bound of training and test images, and -log p(x) of the test
images by 100 importance samples. With all flips direct optimization decodes 202 states; it runs
where `--only` names it, as in

    python -m benchmarks.two_hundred_bits --only "all flips" --data mnist --seeds 0 --steps 10000
    ...

A cell whose run was killed goes on from its last epoch, as does one that was run with fewer steps,
whose row is replaced; one that has its row in the record is not run again. One thread; seconds are
of CPU time, on a GPU or where another call trained too of the clock, and a row names the hardware
of its last epochs. With `--train` cells are trained alone, so that another machine may evaluate
them.

The rate (of 1e-4, 3e-4, 1e-3, by DisARM) and epsilon (of 0.3, 1, 3, by two sides with one flip) had
the best bound of the validation images of MNIST after 5,000 steps.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import lightning.pytorch as pl
import torch
from torch import nn

from models import DiscreteVAE, Potentials
from structured_vae import TrainConfig, evaluate_run, load_dataset, resume, train
from structured_vae.atomic import whole_file
from structured_vae.data import ImageDataset
from structured_vae.environment import environment
from structured_vae.evaluation import gradient_variance
from structured_vae.runs import Run

BITS: Final = 200
HIDDEN: Final = 200
SLOPE: Final = 0.3
BATCH: Final = 50
IMAGES, DRAWS = 50, 40
SHOWN: Final = ("reconstruction", "kl", "bound", "minus_log_p")


@dataclass(frozen=True)
class Cell:
    """An estimator with its options.

    Attributes:
        options: of the training.
        decodes: states that an estimate decodes for an image.
        chain: whether the bits have scores for neighbours.
    """

    options: dict[str, Any]
    decodes: int
    chain: bool = False


CELLS: Final = {
    "DisARM": Cell({"estimator": "disarm"}, 2),
    "ARM": Cell({"estimator": "arm"}, 2),
    "leave-one-out, 2 samples": Cell({"estimator": "score_function", "samples": 2}, 2),
    "direct, one side, 1 flip": Cell(
        {"estimator": "direct", "sides": 1, "completions": 1, "epsilon": 1.0}, 2
    ),
    "direct, two sides, 1 flip": Cell(
        {"estimator": "direct", "sides": 2, "completions": 1, "epsilon": 1.0}, 2
    ),
    "RAM, chain, 1 completion": Cell({"estimator": "ram", "completions": 1}, 2, chain=True),
    "straight-through": Cell({"estimator": "straight_through", "temperature": 0.5}, 1),
    "leave-one-out, 4 samples": Cell({"estimator": "score_function", "samples": 4}, 4),
    "direct, two sides, 3 flips": Cell(
        {"estimator": "direct", "sides": 2, "completions": 3, "epsilon": 1.0}, 4
    ),
    "RAM, chain, 3 completions": Cell({"estimator": "ram", "completions": 3}, 4, chain=True),
    "REBAR": Cell({"estimator": "rebar"}, 3),
    "RELAX": Cell({"estimator": "relax"}, 3),
    "direct, one side, all flips": Cell(
        {"estimator": "direct", "sides": 1, "epsilon": 1.0}, 2 + BITS
    ),
    "direct, two sides, all flips": Cell(
        {"estimator": "direct", "sides": 2, "epsilon": 1.0}, 2 + BITS
    ),
}
"""In the order in which they are run."""

FEW_DECODES: Final = "^(?!.*all flips)"
"""Names of those that are compared; a step with all flips costs twenty times as much."""


class BitsEncoder(nn.Module):
    """784-200-200-200, or with a score for every two neighbours."""

    edges: torch.Tensor

    def __init__(self, pixels: int, chain: bool):
        super().__init__()
        first = torch.arange(BITS - 1 if chain else 0)
        self.register_buffer("edges", torch.stack([first, first + 1], dim=1), persistent=False)
        self.network = layers(pixels, BITS + len(first))

    def forward(self, x: torch.Tensor) -> Potentials:
        """Of each image."""
        scores = self.network(x)
        if not len(self.edges):
            return Potentials(scores)
        return Potentials(scores[:, :BITS], scores[:, BITS:], self.edges)


def layers(inputs: int, outputs: int) -> nn.Sequential:
    """Two hidden layers."""
    hidden = [
        nn.Linear(inputs, HIDDEN),
        nn.LeakyReLU(SLOPE),
        nn.Linear(HIDDEN, HIDDEN),
        nn.LeakyReLU(SLOPE),
    ]
    return nn.Sequential(*hidden, nn.Linear(HIDDEN, outputs))


def networks(cell: Cell, seed: int, pixels: int) -> DiscreteVAE:
    """New ones; those of a seed begin alike for all estimators of independent bits."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return DiscreteVAE(BitsEncoder(pixels, cell.chain), layers(BITS, pixels), pixels=pixels)


class Variance(pl.Callback):
    """Of the estimator's gradient, beside the other metrics of an epoch."""

    def __init__(self, x: torch.Tensor):
        self.x = x

    def on_validation_epoch_end(self, trainer: pl.Trainer, pl_module: Any) -> None:
        """Logs it, so that it has a column among the metrics."""
        noise = torch.Generator(pl_module.device).manual_seed(trainer.current_epoch)
        x = self.x.to(pl_module.device)
        with torch.inference_mode(False), torch.enable_grad():
            value = gradient_variance(pl_module.vae, x, pl_module.estimator, DRAWS, noise)
        pl_module.log("gradient/variance", value)


def configured(
    cell: Cell, data: str, seed: int, rate: float, steps: int, train_images: int
) -> TrainConfig:
    """The training of a cell."""
    epochs = max(1, round(steps * BATCH / train_images))
    options = dict(cell.options)
    config = TrainConfig(
        model="own", recipe="elbo", sides=options.pop("sides", 1), rate_decay="none", learning_rate=rate,
        kl_warmup=0, epochs=epochs, seed=seed, picture_every=0, logger="none",
    )  # fmt: skip
    for name in ("temperature", "epsilon"):
        if name in options:
            options[name] = replace(getattr(config, name), start=options[name], rate=0.0)
    images = replace(config.data, name=data, binarisation="dynamic", batch_size=BATCH)
    return replace(config, data=images, **options)


def trained(name: str, config: TrainConfig, dataset: ImageDataset, folder: Path) -> float:
    """Trains a cell to its end; the seconds of CPU time that it took."""
    vae = networks(CELLS[name], config.seed, dataset.pixels)
    variance = Variance(torch.from_numpy(dataset.validation.images[:IMAGES]))
    start = time.process_time()
    if not folder.exists():
        train(config, folder, False, model=vae, callbacks=[variance])
    elif Run.at(folder).recorded_epochs() < config.epochs:
        resume(folder, config.epochs, progress=False, model=vae, callbacks=[variance])
    return time.process_time() - start


def measured(
    name: str,
    config: TrainConfig,
    dataset: ImageDataset,
    folder: Path,
    before: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """A cell, trained to its end and evaluated; `before` is its row with fewer steps, if there is one."""
    known = sum(row["epochs"] for row in before)
    elsewhere = folder.exists() and Run.at(folder).recorded_epochs() > known
    seconds = sum(row["seconds"] for row in before) + trained(name, config, dataset, folder)
    run, there = Run.at(folder), json.loads((folder / "record.json").read_text(encoding="utf-8"))
    if elsewhere or "gpu" in there["hardware"]:
        seconds = float(run.metrics["seconds"].sum())
    vae = networks(CELLS[name], config.seed, dataset.pixels)
    test = evaluate_run(folder, samples=100, model=vae).quantities
    seen = evaluate_run(folder, "train", samples=2, model=vae).quantities
    curves = {key: list(map(float, column)) for key, column in run.metrics.items() if key in CURVES}
    return {
        "estimator": name,
        "data": config.data.name,
        "seed": config.seed,
        "decodes": CELLS[name].decodes,
        "epochs": run.recorded_epochs(),
        "rate": config.learning_rate,
        "seconds": seconds,
        "train_bound": seen["bound"].value,
        **{key: test[key].value for key in SHOWN},
        **{f"{key}_is": test[key].kind for key in SHOWN},
        "curves": curves,
        "commit": there["commit"],
        "commits": there.get("commits", []),
        "hardware": there["hardware"],
    }


CURVES: Final = (
    "epoch",
    "step",
    "ms_per_step",
    "validation/bound",
    "test/bound",
    "gradient/variance",
)


def main(arguments: list[str] | None = None) -> None:
    """Runs what is missing, and writes the record after every cell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["mnist", "fashion-mnist"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--only", default=FEW_DECODES, help="a regular expression of the names")
    parser.add_argument("--train", action="store_true", help="do not evaluate, and write no record")
    parser.add_argument(
        "--runs",
        type=Path,
        required=True,
        help="folder of the runs, from which a killed one goes on",
    )
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    for seed, data in product(chosen.seeds, chosen.data):
        dataset = load_dataset(data, None, "dynamic")
        for name in (name for name in CELLS if re.search(chosen.only, name)):
            config = configured(
                CELLS[name], data, seed, chosen.rate, chosen.steps, len(dataset.train)
            )
            same = {"estimator": name, "data": data, "seed": seed, "rate": chosen.rate}
            rows = read(chosen.output)["runs"]
            place = next(
                (i for i, row in enumerate(rows) if same.items() <= row.items()), len(rows)
            )
            before = rows[place : place + 1]
            if before and before[0]["epochs"] >= config.epochs:
                continue
            title = re.sub(r"[^a-z0-9]+", "-", f"{data} {name} {seed} {chosen.rate:g}".lower())
            if chosen.train:
                trained(name, config, dataset, chosen.runs / title)
                continue
            row = measured(name, config, dataset, chosen.runs / title, before)
            rows[place : place + 1] = [row]
            with whole_file(chosen.output) as part:
                part.write_text(
                    json.dumps({**environment(), "runs": rows}, indent=1) + "\n", encoding="utf-8"
                )
            print(
                f"{data} {name}, seed {seed}: bound {row['bound']:.2f}, -log p(x) {row['minus_log_p']:.2f}"
            )


def read(path: Path) -> dict[str, Any]:
    """The record so far."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"runs": []}


if __name__ == "__main__":
    main()
