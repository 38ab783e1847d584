"""Which k pixels of a digit keep its class: subset selection on MNIST, learnt through `KOfN`.

    STRUCTURED_VAE_DATA=... python benchmarks/pixel_subsets.py --output results/pixel_subsets.json

A selector scores the pixels of an image (its central 20 by 20, grey values), the k best are shown
to a classifier, and both are trained by the cross-entropy of the classes (Chen, Song, Wainwright,
Jordan 2018, Learning to explain). A selector that is trained together with its classifier could
tell it the class by where it looks; so a second classifier, which was trained with random pixels
alone, judges the same pixels too (Jethani and others 2021, EVAL-X). Every method gets the learning
rate that is best on validation images, at k = 20. One thread; seconds are of CPU time and of
training alone. With `--only`, the other methods' rows of the record stay.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn.functional import cross_entropy

from structured_vae import ArgmaxLayer, KOfN, load_dataset
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.noise import gumbel

SIDE, HIDDEN, BATCH = 20, 100, 100
PIXELS = SIDE * SIDE
SIZES, SELECTION_SIZE = (10, 20, 30), 20
RATES = (0.001, 0.003)
TRAIN, VALIDATION = 10_000, 2_000
SELECTION_SEED = 100
TEMPERATURE = 0.1
"""Of the relaxed samples of L2X, as in its authors' experiments."""

SHOWN = 6
"""Test images whose pixels the record keeps for a picture."""

Mask: TypeAlias = Callable[[torch.Tensor, torch.Generator | None], torch.Tensor]
"""Scores `[batch, n]` and noise for training, None for testing -> states `[batch, n]` with k ones."""


class Judge(nn.Module):
    """The classes by the pixels that are shown."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2 * PIXELS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, 10))

    def forward(self, x: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        """Logits `[batch, 10]` of images `x [batch, n]` and which of their pixels are shown, z."""
        return self.layers(torch.cat([x * z, z], dim=-1))


def selector() -> nn.Module:
    """The scores of the pixels of an image."""
    return nn.Sequential(nn.Linear(PIXELS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, PIXELS))


def implicit_mle(k: int) -> Mask:
    """The layer with its own step, and noise in training."""
    layer = ArgmaxLayer(KOfN(k), seed=None)
    return lambda scores, noise: layer(scores, generator=noise)


def straight_through(k: int) -> Mask:
    """The layer whose gradient goes on as it is, and noise in training."""
    layer = ArgmaxLayer(KOfN(k), "straight_through", seed=None)
    return lambda scores, noise: layer(scores, generator=noise)


def exact_marginals(k: int) -> Mask:
    """An exact sample, with the gradient of the exact marginals (Ahmed and others 2023, SIMPLE)."""
    subsets = KOfN(k)

    def mask(scores: torch.Tensor, noise: torch.Generator | None) -> torch.Tensor:
        if noise is None:
            return subsets.argmax(scores.detach())
        p = subsets.gibbs(scores)
        marginals = p.marginals
        return p.sample(noise)[0] + marginals - marginals.detach()

    return mask


def relaxed(k: int) -> Mask:
    """The largest of k relaxed categorical samples of a pixel (Chen and others 2018, L2X).

    In training, pixels are shown in part, and fewer than k where samples agree.
    """
    subsets = KOfN(k)

    def mask(scores: torch.Tensor, noise: torch.Generator | None) -> torch.Tensor:
        if noise is None:
            return subsets.argmax(scores)
        draws = gumbel(scores.expand(k, *scores.shape), noise)
        samples = ((scores + draws) / TEMPERATURE).softmax(dim=-1)
        return samples.amax(dim=0)

    return mask


def random_pixels(k: int) -> Mask:
    """Whatever the scores."""
    subsets, unseen = KOfN(k), torch.Generator().manual_seed(1)
    return lambda scores, noise: subsets.argmax(torch.rand(scores.shape, generator=noise or unseen))


METHODS: dict[str, Callable[[int], Mask]] = {
    "random pixels": random_pixels,
    "straight-through": straight_through,
    "implicit MLE": implicit_mle,
    "exact sample and marginals": exact_marginals,
    "L2X, relaxed": relaxed,
}


def images() -> dict[str, tuple[torch.Tensor, torch.Tensor]]:
    """Grey values `[count, n]` and classes, of the splits."""
    data, margin = load_dataset("mnist", binarisation="none"), (28 - SIDE) // 2
    found = {}
    for name, count in (("train", TRAIN), ("validation", VALIDATION), ("test", 10_000)):
        split = getattr(data, name)
        x = torch.from_numpy(split.images[:count]).float().reshape(-1, 28, 28)
        inside = x[:, margin:-margin, margin:-margin].reshape(-1, PIXELS)
        found[name] = inside, torch.from_numpy(split.labels[:count])
    return found


def trained(
    mask: Mask, rate: float, data: Any, seed: int, epochs: int
) -> tuple[nn.Module, Judge, float]:
    """Selector and classifier, and the CPU seconds of their training."""
    torch.manual_seed(seed)
    noise, select, judge = torch.Generator().manual_seed(seed), selector(), Judge()
    adam = torch.optim.Adam([*select.parameters(), *judge.parameters()], lr=rate)
    start = time.process_time()
    for _ in range(epochs):
        for rows in torch.randperm(len(data[0])).split(BATCH):
            x, y = data[0][rows], data[1][rows]
            adam.zero_grad()
            cross_entropy(judge(x, mask(select(x), noise)), y).backward()
            adam.step()
    return select, judge, time.process_time() - start


@torch.no_grad()
def accuracy(
    mask: Mask, select: nn.Module, judge: Judge, data: tuple[torch.Tensor, torch.Tensor]
) -> float:
    """The share of images whose class the judge finds from the pixels chosen."""
    x, y = data
    return (judge(x, mask(select(x), None)).argmax(dim=-1) == y).float().mean().item()


def chosen_rate(
    make: Callable[[int], Mask], data: Any, epochs: int
) -> tuple[float, dict[float, float]]:
    """The learning rate of highest accuracy on validation images."""
    tried = {}
    for rate in RATES:
        mask = make(SELECTION_SIZE)
        select, judge, _ = trained(mask, rate, data["train"], SELECTION_SEED, epochs)
        tried[rate] = accuracy(mask, select, judge, data["validation"])
    return max(tried, key=lambda rate: tried[rate]), tried


def compared(
    name: str, data: Any, outsiders: dict[int, Judge], epochs: int, seeds: tuple[int, ...]
) -> list[dict[str, Any]]:
    """A row for each k, with the accuracy of its own classifier and of the one trained with random pixels."""
    rate, tried = chosen_rate(METHODS[name], data, epochs)
    rows = []
    for k, outsider in outsiders.items():
        row: dict[str, Any] = {"method": name, "k": k, "rate": rate, "validation": tried}
        row["commit"] = environment()["commit"]
        row |= {
            "seeds": list(seeds),
            "epochs": epochs,
            "accuracy": [],
            "accuracy_of_outsider": [],
            "seconds": [],
        }
        for seed in seeds:
            mask = METHODS[name](k)
            select, judge, seconds = trained(mask, rate, data["train"], seed, epochs)
            row["accuracy"].append(accuracy(mask, select, judge, data["test"]))
            row["accuracy_of_outsider"].append(accuracy(mask, select, outsider, data["test"]))
            row["seconds"].append(seconds)
        with torch.no_grad():
            z = mask(select(data["test"][0][:SHOWN]), None)
        row["pixels"] = [torch.nonzero(one)[:, 0].tolist() for one in z]
        rows.append(row)
        Console(stderr=True).print(f"{name}, k = {k}: {mean(row['accuracy']):.3f}")
    return rows


def kept(path: Path, made_anew: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a record, of methods other than these; each row names its commit."""
    if not path.exists():
        return []
    record = json.loads(path.read_text(encoding="utf-8"))
    rows = [row for row in record["rows"] if row["method"] not in made_anew]
    return [{"commit": record["commit"], **row} for row in rows]


def shown(rows: list[dict[str, Any]]) -> Table:
    """Accuracies by k."""
    table = Table(title="test accuracy, %: own classifier, and one trained with random pixels")
    sizes = sorted({row["k"] for row in rows})
    for column in ("", *(f"k = {k}" for k in sizes), "seconds"):
        table.add_column(column, justify="right" if column else "left")
    for name in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == name]
        cells = [
            f"{100 * mean(row['accuracy']):.1f}, {100 * mean(row['accuracy_of_outsider']):.1f}"
            for row in own
        ]
        table.add_row(
            name, *cells, f"{mean(second for row in own for second in row['seconds']):.1f}"
        )
    return table


def main(arguments: list[str] | None = None) -> None:
    """Prints the table and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--outsider_epochs", type=int, default=10)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0,))
    parser.add_argument("--only", nargs="+", default=tuple(METHODS))
    parser.add_argument("--output", type=Path, default=Path("results/pixel_subsets.json"))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    data = images()
    outsiders = {
        k: trained(random_pixels(k), 0.003, data["train"], 7, options.outsider_epochs)[1]
        for k in options.sizes
    }
    rows = kept(options.output, options.only)
    for name in options.only:
        rows += compared(name, data, outsiders, options.epochs, tuple(options.seeds))
    Console(width=110).print(shown(rows))
    record = {
        **environment(),
        "train": TRAIN,
        "test": len(data["test"][0]),
        "side": SIDE,
        "batch": BATCH,
    }
    record |= {
        "epochs": options.epochs,
        "outsider_epochs": options.outsider_epochs,
        "seeds": list(options.seeds),
    }
    record["images"] = (255 * data["test"][0][:SHOWN]).round().int().tolist()
    with whole_file(options.output) as part:
        part.write_text(json.dumps({**record, "rows": rows}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
