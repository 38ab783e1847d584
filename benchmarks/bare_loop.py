"""What a training costs beside a loop written by hand: Lightning, hooks, metrics, evaluation.

    OMP_NUM_THREADS=1 python benchmarks/bare_loop.py --output results/bare_loop.json

Two hundred independent bits with a linear autoregressive prior, straight-through, batches of 100 of
the embedded images. Both do the same steps: the loop draws, encodes, decodes, and steps Adam, and
nothing else. CPU time of one process, turn by turn; a training's turn has all that `train` does.
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

import torch
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from models import paper_vae
from structured_vae import TrainConfig, load_dataset, train
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.schedules import ExponentialDecay

BATCH = 100
N = 200
TEMPERATURE = 0.5
RATE = 2e-3


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


def by_train(epochs: int, evaluate_every: int) -> float:
    """Return the CPU seconds of `train` on the same images, files and evaluations included."""
    config = TrainConfig(
        encoder="independent",
        n=N,
        prior="linear",
        estimator="straight_through",
        temperature=ExponentialDecay(TEMPERATURE, 0.0, TEMPERATURE),
        epochs=epochs,
        evaluate_every=evaluate_every,
        picture_every=0,
        logger="none",
        device="cpu",
    )
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
        "train, nothing but its ends": lambda: by_train(1, 1),
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
    }
    with whole_file(chosen.output) as unfinished:
        unfinished.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
