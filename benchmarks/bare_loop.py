"""Compare a training step with a loop written by hand, and say what Lightning and the rest cost.

    OMP_NUM_THREADS=1 python benchmarks/bare_loop.py --output results/bare_loop.json

The first table has 200 independent bits with a linear autoregressive prior, straight-through,
batches of 100 of the embedded images. Loop and training do the same steps: the loop draws, encodes,
decodes, and steps Adam, and nothing else.

The second table divides the CPU time of `train` by encoder, with `direct` for those of the paper:

- bare: the loss of a batch, its gradient and a step of Adam, without Lightning;
- Lightning: what its trainer adds to these without any callback;
- hooks: what the callbacks of `train` add to that;
- validation, metrics, files: their CPU time in an epoch, divided by its steps.

All of it is CPU time of one process, turn by turn.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import lightning.pytorch as pl
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from models import paper_vae
from structured_vae import TrainConfig, load_dataset, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.runs.assembly import data_of, dataset_of, initialised, training_of
from structured_vae.runs.custom_objects import configured
from structured_vae.schedules import ExponentialDecay
from structured_vae.training.base import Training
from structured_vae.training.batches import ImageData
from structured_vae.training.quiet import quiet

BATCH = 100
N = 200
TEMPERATURE = 0.5
RATE = 2e-3
ENCODERS = ("independent", "general", "supermodular")


def by_hand(images: torch.Tensor, epochs: int) -> float:
    """Return the CPU seconds of a loop over the images."""
    torch.manual_seed(0)
    vae = paper_vae("independent", n=N, prior="linear")
    adam = torch.optim.Adam(vae.parameters(), lr=RATE, fused=True)
    start = time.process_time()
    for _ in range(epochs):
        for places in torch.randperm(len(images)).split(BATCH):
            x = images[places]
            scores = vae.encoder.network(x)
            noisy = scores + torch.empty_like(scores).uniform_(1e-6, 1 - 1e-6).logit()
            soft = (noisy / TEMPERATURE).sigmoid()
            z = (noisy > 0).float() + soft - soft.detach()
            logits = vae.decoder(z)
            cost = binary_cross_entropy_with_logits(logits, x, reduction="none").sum(dim=1)
            # Minus the entropy of q, in closed form, and -log p(z) of the prior.
            negative_entropy = (scores * scores.sigmoid() - softplus(scores)).sum(dim=1)
            loss = (cost + negative_entropy - vae.prior.log_prob(z)).mean()
            adam.zero_grad()
            loss.backward()
            adam.step()
    return time.process_time() - start


def config_of(encoder: str, epochs: int, evaluate_every: int) -> TrainConfig:
    """Return the configuration of an encoder; only the independent one has a learnt prior."""
    shared: dict[str, Any] = {
        "encoder": encoder,
        "epochs": epochs,
        "evaluate_every": evaluate_every,
        "picture_every": 0,
        "logger": "none",
        "device": "cpu",
    }
    if encoder != "independent":
        return TrainConfig(estimator="direct", **shared)
    return TrainConfig(
        n=N,
        prior="linear",
        estimator="straight_through",
        temperature=ExponentialDecay(TEMPERATURE, 0.0, TEMPERATURE),
        **shared,
    )


def by_train(epochs: int, evaluate_every: int) -> float:
    """Return the CPU seconds of `train` on the same images, files and evaluations included."""
    config = config_of("independent", epochs, evaluate_every)
    with tempfile.TemporaryDirectory() as folder:
        start = time.process_time()
        train(config, Path(folder) / "run", False)
        return time.process_time() - start


def measured(epochs: int, rounds: int) -> dict[str, Any]:
    """Return milliseconds a step and their ratios to the loop, medians of the rounds."""
    images = torch.as_tensor(load_dataset("fashion-mnist-mini").train.images).float()
    steps = epochs * -(-len(images) // BATCH)
    contenders = {
        "loop": lambda: by_hand(images, epochs),
        "train, one evaluation": lambda: by_train(epochs, epochs),
        "train, an evaluation each epoch": lambda: by_train(epochs, 1),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    by_hand(images, 1)
    for _ in range(rounds):
        for name, call in contenders.items():
            seconds[name].append(call())
    per_step = {name: 1e3 * statistics.median(taken) / steps for name, taken in seconds.items()}
    return {
        "steps": steps,
        "ms_a_step": per_step,
        "ratio": {name: value / per_step["loop"] for name, value in per_step.items()},
        "seconds": seconds,
    }


class Phases(pl.Callback):
    """The CPU seconds of the phases of a training."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(("steps", "validation", "metrics", "files"), 0.0)
        self._phase = ""
        self._since = 0.0

    def enter(self, phase: str) -> None:
        """End a phase and begin another; an empty name begins none."""
        now = time.process_time()
        if self._phase:
            self.seconds[self._phase] += now - self._since
        self._phase = phase
        self._since = now

    def on_train_epoch_start(self, *_: Any) -> None:
        """Begin the steps of an epoch, and end the files of the epoch before."""
        self.enter("steps")

    def on_validation_start(self, *_: Any) -> None:
        """Begin an evaluation."""
        self.enter("validation")

    def on_validation_epoch_end(self, *_: Any) -> None:
        """Begin the metrics: Lightning calls the training's own hook after this one."""
        self.enter("metrics")

    def on_validation_end(self, *_: Any) -> None:
        """Begin the record, the pictures and the checkpoints of an epoch."""
        self.enter("files")

    def on_train_end(self, *_: Any) -> None:
        """End the files of the last epoch."""
        self.enter("")


def assembled(config: TrainConfig) -> tuple[Training, ImageData]:
    """Return the training and the batches of a configuration."""
    config, given = configured(config, None, None, None, {})
    dataset = dataset_of(config, given)
    vae = initialised(config, dataset.pixels, given)
    return training_of(config, vae, given), data_of(config, dataset)


def bare_steps(config: TrainConfig) -> float:
    """Return the CPU seconds of the steps of `train` without Lightning."""
    training, data = assembled(config)
    adam = training.configure_optimizers()
    batches = data.train_dataloader()
    start = time.process_time()
    for _ in range(config.epochs):
        training.on_train_epoch_start()
        for batch in batches:
            loss = training.loss(*batch)
            adam.zero_grad()
            loss.backward()
            adam.step()
    return time.process_time() - start


def lightning_steps(config: TrainConfig) -> float:
    """Return the CPU seconds of the steps under Lightning without callbacks."""
    training, data = assembled(config)
    phases = Phases()
    with quiet():
        trainer = pl.Trainer(
            accelerator="cpu",
            max_epochs=config.epochs,
            callbacks=[phases],
            logger=False,
            limit_val_batches=0,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            use_distributed_sampler=False,
        )
        trainer.fit(training, data)
    phases.enter("")
    return phases.seconds["steps"]


def trained_phases(config: TrainConfig) -> dict[str, float]:
    """Return the CPU seconds of the phases of `train`."""
    phases = Phases()
    with tempfile.TemporaryDirectory() as folder:
        train(config, Path(folder) / "run", False, callbacks=[phases])
    return phases.seconds


def divided(encoder: str, epochs: int, rounds: int) -> dict[str, float]:
    """Return milliseconds a step by cause, medians of the rounds."""
    config = config_of(encoder, epochs, 1)
    bare: list[float] = []
    lightning: list[float] = []
    phases: list[dict[str, float]] = []
    for _ in range(rounds):
        bare.append(bare_steps(config))
        lightning.append(lightning_steps(config))
        phases.append(trained_phases(config))
    steps = epochs * -(-len(load_dataset("fashion-mnist-mini").train.images) // BATCH)
    per_step = 1e3 / steps
    by_phase = {
        name: per_step * statistics.median(row[name] for row in phases) for name in phases[0]
    }
    plain = per_step * statistics.median(bare)
    under_lightning = per_step * statistics.median(lightning)
    return {
        "bare": plain,
        "lightning": under_lightning - plain,
        "hooks": by_phase["steps"] - under_lightning,
        "validation": by_phase["validation"],
        "metrics": by_phase["metrics"],
        "files": by_phase["files"],
        "ratio of a step": by_phase["steps"] / plain,
    }


def main(arguments: list[str] | None = None) -> None:
    """Measure, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    record = {
        "epochs": chosen.epochs,
        "rounds": chosen.rounds,
        **environment(),
        **measured(chosen.epochs, chosen.rounds),
        "ms_a_step_by_cause": {
            encoder: divided(encoder, chosen.epochs, chosen.rounds) for encoder in ENCODERS
        },
    }
    with whole_file(chosen.output) as unfinished:
        unfinished.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
