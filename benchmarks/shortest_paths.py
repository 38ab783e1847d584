"""Costs of a grid learned for its shortest paths, in PyEPO's own setting, its losses beside ours.

    python benchmarks/shortest_paths.py --output results/shortest_paths.json

The generator is that of PyEPO (Tang, Khalil 2022, section 5.1): features x ~ N(0, I), costs
c = [((B x) / sqrt(p) + 3)^degree + 1] / 3.5^degree with a random binary matrix B, times noise, on a
grid of 5 by 5. A linear model predicts costs of arcs; what is counted is the normalised regret, sum
of c.w(predicted) - c.w(c) over the sum of c.w(c), of test data. Every method gets the learning rate
that is best on validation data of another seed. With PyEPO installed (`pip install pyepo`) its
data, SPO+ and perturbed Fenchel-Young are used, and its regret has to be ours; without it, the same
formula, and its methods are left out. One thread; seconds are of CPU time, and of training alone.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any, TypeAlias

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import numpy as np
import torch
from rich.console import Console
from rich.table import Table

from structured_vae import (
    ArgmaxLayer,
    GibbsLikelihood,
    PerturbedFenchelYoung,
    StructuredHinge,
    grid_paths,
)
from structured_vae.atomic import whole_file
from structured_vae.environment import environment

GRID, FEATURES = (5, 5), 5
TRAIN, HELD_OUT, BATCH = 1000, 1000, 32
DEGREES, NOISE = (1, 2, 4, 6), 0.5
RATES = (0.01, 0.03, 0.1)
SELECTION_SEED, SEEDS = 100, (0, 1, 2)
SAMPLES = 3
"""Noise draws of a perturbed loss, here and in PyEPO."""

PATHS = grid_paths(*GRID)
WITH_PYEPO = importlib.util.find_spec("pyepo") is not None


@dataclass(frozen=True)
class Batch:
    """Costs that were predicted, `[batch, n]`, those that are true, and the shortest paths of these."""

    predicted: torch.Tensor
    cost: torch.Tensor
    path: torch.Tensor
    noise: torch.Generator

    @property
    def scores(self) -> torch.Tensor:
        """What is maximised."""
        return -self.predicted


Loss: TypeAlias = Callable[[Batch], torch.Tensor]
"""The mean loss of a batch."""


def two_stage(batch: Batch) -> torch.Tensor:
    """Least squares of the costs."""
    return (batch.predicted - batch.cost).square().mean()


def spo_plus(batch: Batch) -> torch.Tensor:
    """max_z (c - 2 c').z + 2 c'.y - c.y for predictions c' and the shortest path y (Elmachtoub, Grigas 2022)."""
    shifted = 2 * batch.predicted - batch.cost
    z = PATHS.argmax(-shifted.detach())
    return (
        (2 * batch.predicted * batch.path - shifted * z - batch.cost * batch.path).sum(dim=1).mean()
    )


def perturbed_fenchel_young() -> Loss:
    """Of the path of the true costs."""
    loss = PerturbedFenchelYoung(PATHS, samples=SAMPLES)
    return lambda batch: loss(batch.scores, target=batch.path, generator=batch.noise).mean()


def hinge() -> Loss:
    """Of the path of the true costs, by the Hamming distance."""
    loss = StructuredHinge(PATHS)
    return lambda batch: loss(batch.scores, target=batch.path).mean()


def likelihood() -> Loss:
    """Of the path of the true costs, with exact log Z."""
    loss = GibbsLikelihood(PATHS)
    return lambda batch: loss(batch.scores, target=batch.path).mean()


def direct(noisy: bool) -> Loss:
    """Direct optimization of the true cost of the path, a black box."""
    layer = ArgmaxLayer(PATHS, seed=None)

    def loss(batch: Batch) -> torch.Tensor:
        def cost(z: torch.Tensor) -> torch.Tensor:
            return (z * batch.cost).sum(dim=-1)

        return layer(
            batch.scores, cost=cost, generator=batch.noise if noisy else None
        ).surrogate.mean()

    return loss


def implicit_mle(noisy: bool) -> Loss:
    """The true cost of the path behind the layer."""
    layer = ArgmaxLayer(PATHS, seed=None)

    def loss(batch: Batch) -> torch.Tensor:
        z = layer(batch.scores, generator=batch.noise if noisy else None)
        return (z * batch.cost).sum(dim=1).mean()

    return loss


def expected_cost(batch: Batch) -> torch.Tensor:
    """Of a path that is drawn by the Gibbs distribution of the scores, exact."""
    return (PATHS.gibbs(batch.scores).marginals * batch.cost).sum(dim=1).mean()


OURS: dict[str, Callable[[], Loss]] = {
    "least squares": lambda: two_stage,
    "SPO+ through Paths": lambda: spo_plus,
    "PerturbedFenchelYoung": perturbed_fenchel_young,
    "StructuredHinge": hinge,
    "GibbsLikelihood": likelihood,
    "ArgmaxLayer, cost=": lambda: direct(False),
    "ArgmaxLayer, cost=, noise": lambda: direct(True),
    "ArgmaxLayer, implicit MLE": lambda: implicit_mle(False),
    "ArgmaxLayer, implicit MLE, noise": lambda: implicit_mle(True),
    "exact expected cost": lambda: expected_cost,
}


def of_pyepo() -> dict[str, Callable[[], Loss]]:
    """PyEPO's two losses, with its own model of OR-Tools.

    Raises:
        ImportError: PyEPO is not installed.
    """
    import pyepo

    def model() -> Any:
        found = pyepo.model.ort.shortestPathModel(GRID)
        assert [list(arc) for arc in found.arcs] == PATHS.arcs.tolist()
        return found

    def spo() -> Loss:
        loss = pyepo.func.SPOPlus(model())
        return lambda batch: loss(
            batch.predicted, batch.cost, batch.path, best_of(batch.cost, batch.path)[:, None]
        )

    def fenchel_young() -> Loss:
        loss = pyepo.func.perturbedFenchelYoung(model(), n_samples=SAMPLES)
        return lambda batch: loss(batch.predicted, batch.path)

    return {"PyEPO, SPO+": spo, "PyEPO, perturbed Fenchel-Young": fenchel_young}


def best_of(cost: torch.Tensor, path: torch.Tensor) -> torch.Tensor:
    """`[batch]`: the costs of paths."""
    return (cost * path).sum(dim=-1)


def generated(count: int, degree: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Features `[count, FEATURES]` and costs `[count, n]`, by PyEPO's generator or its formula."""
    if WITH_PYEPO:
        from pyepo.data.shortestpath import genData

        x, c = genData(count, FEATURES, GRID, degree, NOISE, seed)
    else:
        x, c = by_formula(count, degree, seed)
    return torch.from_numpy(x).float(), torch.from_numpy(c).float()


def by_formula(count: int, degree: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """What PyEPO's generator draws, from the paper."""
    draws = np.random.RandomState(seed)  # that of PyEPO
    matrix = draws.binomial(1, 0.5, (len(PATHS.arcs), FEATURES))
    x = draws.normal(0, 1, (count, FEATURES))
    costs = ((x @ matrix.T / np.sqrt(FEATURES) + 3) ** degree + 1) / 3.5**degree
    return x, costs * draws.uniform(1 - NOISE, 1 + NOISE, costs.shape)


def regret(net: torch.nn.Module, x: torch.Tensor, cost: torch.Tensor) -> float:
    """Normalised: what the paths of the predicted costs cost beyond the shortest, over what these cost."""
    with torch.no_grad():
        chosen, shortest = PATHS.argmax(-net(x)), PATHS.argmax(-cost)
    least = best_of(cost, shortest).sum()
    return ((best_of(cost, chosen).sum() - least) / least).item()


def trained(
    make: Callable[[], Loss], rate: float, x: Any, cost: Any, seed: int, epochs: int
) -> tuple[Any, float]:
    """A linear model and the CPU seconds of its training."""
    torch.manual_seed(seed)
    net, loss, noise = (
        torch.nn.Linear(FEATURES, cost.shape[1]),
        make(),
        torch.Generator().manual_seed(seed),
    )
    adam, path = torch.optim.Adam(net.parameters(), lr=rate), PATHS.argmax(-cost)
    start = time.process_time()
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(BATCH):
            adam.zero_grad()
            loss(Batch(net(x[rows]), cost[rows], path[rows], noise)).backward()
            adam.step()
    return net, time.process_time() - start


def one(
    make: Callable[[], Loss], rate: float, degree: int, seed: int, epochs: int
) -> dict[str, float]:
    """Regret on test data of a training, and its seconds."""
    x, cost = generated(TRAIN + HELD_OUT, degree, seed)
    net, seconds = trained(make, rate, x[:TRAIN], cost[:TRAIN], seed, epochs)
    return {"regret": regret(net, x[TRAIN:], cost[TRAIN:]), "seconds": seconds}


def compared(
    name: str, make: Callable[[], Loss], degree: int, epochs: int, seeds: tuple[int, ...]
) -> dict[str, Any]:
    """The rate of least regret on the selection seed, and what it gives with the others."""
    tried = {rate: one(make, rate, degree, SELECTION_SEED, epochs)["regret"] for rate in RATES}
    rate = min(tried, key=lambda rate: tried[rate])
    runs = [one(make, rate, degree, seed, epochs) for seed in seeds]
    return {
        "method": name,
        "degree": degree,
        "rate": rate,
        "validation": tried,
        "regret": [run["regret"] for run in runs],
        "seconds": [run["seconds"] for run in runs],
    }


def check_regret() -> float:
    """How far PyEPO's regret is from ours, for an untrained model."""
    import pyepo
    from torch.utils.data import DataLoader

    x, cost = generated(64, 4, 7)
    torch.manual_seed(0)
    net, model = torch.nn.Linear(FEATURES, cost.shape[1]), pyepo.model.ort.shortestPathModel(GRID)
    data = pyepo.data.dataset.optDataset(model, x.numpy(), cost.numpy())
    theirs = pyepo.metric.regret(net, model, DataLoader(data, batch_size=32))
    difference = abs(theirs - regret(net, x, cost))
    assert difference < 1e-5
    return float(difference)


def shown(rows: list[dict[str, Any]]) -> Table:
    """Mean regret by degree, and seconds a training."""
    degrees = sorted({row["degree"] for row in rows})
    table = Table(title="normalised regret, %")
    for column in ("", *(f"degree {degree}" for degree in degrees), "seconds"):
        table.add_column(column, justify="right" if column else "left")
    for name in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == name]
        means = (f"{100 * mean(row['regret']):.2f}" for row in own)
        table.add_row(
            name, *means, f"{mean(second for row in own for second in row['seconds']):.2f}"
        )
    return table


def main(arguments: list[str] | None = None) -> None:
    """Prints the table and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--degrees", type=int, nargs="+", default=DEGREES)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("--output", type=Path, default=Path("results/shortest_paths.json"))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    methods = OURS | (of_pyepo() if WITH_PYEPO else {})
    record = {
        **environment(),
        "grid": GRID,
        "features": FEATURES,
        "train": TRAIN,
        "held_out": HELD_OUT,
    }
    record |= {
        "noise": NOISE,
        "batch": BATCH,
        "epochs": options.epochs,
        "seeds": options.seeds,
        "samples": SAMPLES,
    }
    record["pyepo"] = None
    if WITH_PYEPO:
        from importlib.metadata import version

        record["pyepo"] = {"version": version("pyepo"), "regret_differs_by": check_regret()}
    rows = []
    for degree in options.degrees:
        for name, make in methods.items():
            rows.append(compared(name, make, degree, options.epochs, tuple(options.seeds)))
            Console(stderr=True).print(
                f"degree {degree}, {name}: {100 * mean(rows[-1]['regret']):.2f}%"
            )
    Console(width=110).print(shown(rows))
    with whole_file(options.output) as part:
        part.write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
