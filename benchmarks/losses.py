"""Every loss on one task: how well, in how many steps and seconds, a minimum cut learns to segment.

    python benchmarks/losses.py --output results/losses.json

The task is that of the page `layer_examples`: images of 16 by 16 under noise, pixels coupled to their
neighbours. Each loss gets the learning rate and the setting that have the best intersection over
union on validation images, after trainings with other seeds than those that are reported. One core;
seconds are of CPU time, and of training steps alone.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, TypeAlias

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])
sys.path.append(str(Path(__file__).resolve().parents[1] / "docs" / "examples"))

import torch
from rich.console import Console
from segmentation import EDGES, Segmenter, images
from torch.nn.functional import binary_cross_entropy_with_logits

from benchmarks.interleaved import on_cores
from structured_vae import (
    ArgmaxLayer,
    DirectLoss,
    GibbsLikelihood,
    ImplicitMLELoss,
    PerturbedFenchelYoung,
    Relative,
    StructuredHinge,
    StructuredPerceptron,
)
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

SEEDS = (0, 1, 2, 3, 4)
SELECTION_SEEDS = (100, 101)
RATES = (0.01, 0.03, 0.1)
STEPS = (0, 10, 25, 50, 100)
HELD_OUT = 400
VALIDATION_SEED, TEST_SEED = 2_000, 1_000
SIZES = (1.0, 4.0)

Scores: TypeAlias = tuple[torch.Tensor, torch.Tensor | None]

Loss: TypeAlias = Callable[[Scores, torch.Tensor, torch.Generator], torch.Tensor]
"""Scores of a batch, truth `[batch, n]`, noise -> `[batch]`, to be minimised by its gradient."""


@dataclass(frozen=True)
class Method:
    """A way to train, with the settings that it is tried with.

    Attributes:
        make: of a setting, the loss.
        settings: what `make` is tried with.
        rates: of Adam, likewise.
        coupled: whether the network has pairwise scores.
        batch: images a step.
        steps: after which the network is evaluated; the last one ends the training.
        convex: whether the loss is convex in the scores.
        argmaxes: an image and step.
    """

    make: Callable[[float], Loss]
    settings: tuple[float, ...] = (0.0,)
    rates: tuple[float, ...] = RATES
    coupled: bool = True
    batch: int = 32
    steps: tuple[int, ...] = STEPS
    convex: bool = False
    argmaxes: int = 2


def of_loss(loss: torch.nn.Module, noisy: bool = False) -> Loss:
    """A `StructuredLoss`, with noise or without."""

    def call(scores: Scores, truth: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        return loss(*scores, edges=EDGES, target=truth, generator=generator if noisy else None)

    return call


def of_layer(layer: ArgmaxLayer) -> Loss:
    """The squared difference of the argmax and the truth."""

    def call(scores: Scores, truth: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        z = layer(*scores, edges=EDGES)
        return (z - truth).square().sum(dim=1)

    return call


def of_overlap(layer: ArgmaxLayer) -> Loss:
    """Direct optimization of what is reported, a black box of states."""

    def call(scores: Scores, truth: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        def cost(z: torch.Tensor) -> torch.Tensor:
            return 1 - overlap(z, truth)

        return layer(*scores, edges=EDGES, cost=cost).surrogate

    return call


def cross_entropy(scores: Scores, truth: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Of each pixel by itself."""
    return binary_cross_entropy_with_logits(scores[0], truth, reduction="none").sum(dim=1)


METHODS: dict[str, Method] = {
    "cross-entropy, no pairs": Method(
        lambda _: cross_entropy, coupled=False, convex=True, argmaxes=0
    ),
    "StructuredPerceptron": Method(
        lambda _: of_loss(StructuredPerceptron("max_flow")), convex=True, argmaxes=1
    ),
    "StructuredHinge": Method(
        lambda margin: of_loss(StructuredHinge("max_flow", margin)),
        (0.3, 1.0, 3.0),
        convex=True,
        argmaxes=1,
    ),
    "PerturbedFenchelYoung": Method(
        lambda sigma: of_loss(PerturbedFenchelYoung("max_flow", sigma), noisy=True),
        (0.3, 1.0, 3.0),
        convex=True,
        argmaxes=1,
    ),
    "DirectLoss": Method(lambda size: of_loss(DirectLoss("max_flow", Relative(size))), SIZES),
    "DirectLoss, noise": Method(
        lambda size: of_loss(DirectLoss("max_flow", Relative(size)), True), SIZES
    ),
    "ImplicitMLELoss": Method(
        lambda size: of_loss(ImplicitMLELoss("max_flow", Relative(size))), SIZES
    ),
    "ArgmaxLayer, defaults": Method(lambda _: of_layer(ArgmaxLayer("max_flow"))),
    "ArgmaxLayer, seed=None": Method(lambda _: of_layer(ArgmaxLayer("max_flow", seed=None))),
    "ArgmaxLayer, straight-through": Method(
        lambda _: of_layer(ArgmaxLayer("max_flow", "straight_through")), argmaxes=1
    ),
    "ArgmaxLayer, cost=1 - IoU": Method(lambda _: of_overlap(ArgmaxLayer("max_flow"))),
    "GibbsLikelihood": Method(
        lambda _: of_loss(GibbsLikelihood()),
        batch=2,
        steps=(0, 10, 25),
        rates=(0.03, 0.1),
        convex=True,
        argmaxes=0,
    ),
}
"""What is compared, by the name in the table."""


def overlap(z: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
    """`[..., batch]`: intersection over union of the ones of two states."""
    return (z * truth).sum(dim=-1) / torch.maximum(z, truth).sum(dim=-1).clamp(min=1)


PREDICT = ArgmaxLayer("max_flow")


@torch.no_grad()
def quality(net: Segmenter, held_out: tuple[torch.Tensor, torch.Tensor]) -> float:
    """The mean intersection over union on held-out images."""
    unary, pairwise = net(held_out[0])
    z = PREDICT(unary, pairwise, edges=None if pairwise is None else EDGES)
    return overlap(z, held_out[1]).mean().item()


def run(
    method: Method, setting: float, rate: float, seed: int, held_out: Any
) -> dict[str, list[float]]:
    """One training: quality and seconds at every evaluated step."""
    torch.manual_seed(seed)
    net, loss = Segmenter(method.coupled), method.make(setting)
    drawn, noise = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(net.parameters(), lr=rate)
    found: dict[str, list[float]] = {"step": [], "seconds": [], "iou": []}
    seconds = 0.0
    for step in range(method.steps[-1] + 1):
        if step in method.steps:
            for name, value in (
                ("step", step),
                ("seconds", seconds),
                ("iou", quality(net, held_out)),
            ):
                found[name].append(value)
        x, truth = images(method.batch, drawn)
        start = time.process_time()
        value = loss(net(x), truth, noise).mean()
        adam.zero_grad()
        value.backward()
        adam.step()
        seconds += time.process_time() - start
    return found


def choose(method: Method, seeds: Sequence[int]) -> list[dict[str, float]]:
    """Every rate and setting with its mean quality on validation images, the best first."""
    held_out = images(HELD_OUT, torch.Generator().manual_seed(VALIDATION_SEED))
    rows = [
        {
            "rate": rate,
            "setting": setting,
            "iou": sum(run(method, setting, rate, seed, held_out)["iou"][-1] for seed in seeds)
            / len(seeds),
        }
        for setting in method.settings
        for rate in method.rates
    ]
    return sorted(rows, key=lambda row: -row["iou"])


def compare(name: str, seeds: Sequence[int], selection: Sequence[int]) -> dict[str, Any]:
    """The row of a method: what was tried on validation images, and the runs with what was best there."""
    method = METHODS[name]
    tried = choose(method, selection)
    held_out = images(HELD_OUT, torch.Generator().manual_seed(TEST_SEED))
    best = tried[0]
    runs = [run(method, best["setting"], best["rate"], seed, held_out) for seed in seeds]
    return {
        "batch": method.batch,
        "convex": method.convex,
        "argmaxes": method.argmaxes,
        "tried": tried,
        "seeds": list(seeds),
        "runs": runs,
    }


def at_step(row: dict[str, Any], step: int) -> list[float]:
    """The quality of each seed after so many steps; nothing where the training was shorter."""
    return [
        iou
        for run in row["runs"]
        for at, iou in zip(run["step"], run["iou"], strict=True)
        if at == step
    ]


def ends(row: dict[str, Any]) -> list[float]:
    """The quality of each seed after its last step."""
    return [run["iou"][-1] for run in row["runs"]]


def milliseconds(row: dict[str, Any]) -> float:
    """Of a step, the median over seeds."""
    return median(1000 * run["seconds"][-1] / run["step"][-1] for run in row["runs"])


def main(arguments: list[str] | None = None) -> None:
    """Trains with every loss, and writes the record after each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--seeds", type=int, nargs="*", default=list(SEEDS))
    parser.add_argument("--selection", type=int, nargs="*", default=list(SELECTION_SEEDS))
    parser.add_argument("--output", type=Path, default=Path("results/losses.json"))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    record: dict[str, Any] = {**environment(), "held_out": HELD_OUT, "rows": {}}
    if options.output.exists():  # rows that were measured before stay, with the commit of theirs
        record["rows"] = json.loads(options.output.read_text(encoding="utf-8"))["rows"]
    console = Console(width=100)
    with on_cores(1):
        for name in options.only:
            row = compare(name, options.seeds, options.selection)
            record["rows"][name] = {**row, "commit": record["commit"]}
            found = f"IoU {median(ends(row)):.3f}, worst {min(ends(row)):.3f}"
            console.print(f"{name}: {found}, {milliseconds(row):.1f} ms a step")
            with whole_file(options.output) as part:
                part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
