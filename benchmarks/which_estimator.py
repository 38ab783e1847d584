"""Which gradient estimator to take: what each knows of the gradient, what it costs, how far it comes in equal epochs.

    python -m benchmarks.which_estimator --output results/which_estimator.json

Ten bits of Fashion-MNIST-mini, independent ones and coupled ones. For both, a model is trained with
exact gradients, and every estimator that fits it draws gradients for the same images, beside the
exact one; the decodes and argmaxes of a draw are counted, not read from code. Then each trains
networks from the same start for equal epochs, the whole bound, at the learning rate whose bound on
the validation images is best; what is recorded of the test images is that run's. With `--only`, the
other estimators' rows of a record with the same settings stay. One thread; seconds are of CPU time.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, Final

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch
from torch import nn

from models import paper_vae
from models.networks import NetworkDecoder
from solvers import solver_class
from structured_vae import (
    ConfigError,
    Estimator,
    Reconstruction,
    TrainConfig,
    evaluate_run,
    gradient_report,
    load_dataset,
    load_vae,
    train,
)
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.estimators import ESTIMATORS
from structured_vae.vaes.fitting import fitting_estimator

ENCODERS: Final = ("independent", "general")
TWO_SIDED: Final = "direct, two sides"
NAMES: Final = (*ESTIMATORS, TWO_SIDED)
SHOWN: Final = ("bound", "minus_log_p")
EXHAUSTIVE: Final[Any] = solver_class("exhaustive")

BASE = TrainConfig(
    n=10, recipe="elbo", sides=1, rate_decay="none", kl_warmup=0, picture_every=0, logger="none"
)


def configured(name: str, encoder: str, epochs: int) -> TrainConfig:
    """The training of a row."""
    config = replace(BASE, encoder=encoder, epochs=epochs, evaluate_every=epochs)
    return replace(config, sides=2) if name == TWO_SIDED else replace(config, estimator=name)


def kept(
    path: Path, settings: Mapping[str, Any], encoders: Collection[str], estimators: Collection[str]
) -> list[dict[str, Any]]:
    """The rows of a record with the same settings, but those of these encoders by these estimators."""
    record = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    same = all(record.get(name) == value for name, value in settings.items())
    made_anew = set(product(encoders, estimators))
    rows = record["rows"] if same else []
    return [row for row in rows if (row["encoder"], row["estimator"]) not in made_anew]


class CountedSolver(EXHAUSTIVE):
    """Counts the instances that it is asked."""

    asked = 0

    def _argmax(self, problem: Any, deadline: Any) -> Any:
        self.asked += problem.batch
        return super()._argmax(problem, deadline)


class CountedDecoder(nn.Module):
    """One layer that counts the states that it decodes."""

    def __init__(self, n: int, pixels: int):
        super().__init__()
        self.layer = nn.Linear(n, pixels)
        self.decoded = 0

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        """Logits `[count, pixels]`."""
        self.decoded += len(z)
        logits: torch.Tensor = self.layer(z)
        return logits


def made(config: TrainConfig, solver: Any = None) -> Estimator | None:
    """The estimator of a configuration; None where it does not fit the encoder."""
    vae = paper_vae(config.encoder, pixels=784, n=config.n, hidden=2)
    try:
        return fitting_estimator(config, vae, solver or CountedSolver())
    except ConfigError:
        return None


def counted(config: TrainConfig) -> dict[str, float]:
    """Decodes and argmaxes of a draw for one image, and decodes that a batch shares, however large it is."""
    found = []
    for batch in (20, 40):
        solver, network = CountedSolver(), CountedDecoder(config.n, 784)
        estimator = made(config, solver)
        assert estimator is not None
        torch.manual_seed(0)  # sparse distributions depend on the scores
        potentials = paper_vae(config.encoder, pixels=784, n=config.n, hidden=2).encoder(
            torch.zeros(batch, 784)
        )
        cost = Reconstruction(NetworkDecoder(network), torch.zeros(batch, 784))
        estimator(potentials, cost, torch.Generator().manual_seed(0))
        found.append((network.decoded, solver.asked))
    (few, asked), (many, _) = found
    return {"decodes": (many - few) / 20, "shared_decodes": 2 * few - many, "argmaxes": asked / 20}


def reference(encoder: str, epochs: int, folder: str) -> Any:
    """A model that was trained with exact gradients."""
    run = train(
        replace(BASE, encoder=encoder, estimator="exact", epochs=epochs, evaluate_every=epochs),
        Path(folder) / "reference",
        False,
    )
    return load_vae(run.folder, "last").eval()


def known(vae: Any, estimator: Estimator, x: torch.Tensor, draws: int) -> dict[str, float]:
    """Bias and noise in norms of the exact gradient, and the cosine between mean and exact gradient."""
    report = gradient_report(vae, x, {"": estimator}, draws, torch.Generator().manual_seed(0))[""]
    relative = {"bias": report.bias, "resolution": report.resolution, "noise": report.variance**0.5}
    return {
        **{name: value / report.norm for name, value in relative.items()},
        "cosine": report.cosine,
        "z_score": report.z_score,
    }


def learnt(config: TrainConfig, rates: list[float]) -> dict[str, Any]:
    """The rate that is best on validation images at the end, and what that training gives on test images."""
    with tempfile.TemporaryDirectory() as folder:
        tried, seconds = {}, {}
        for rate in rates:
            start = time.process_time()
            run = train(replace(config, learning_rate=rate), Path(folder) / str(rate), False)
            seconds[rate] = time.process_time() - start
            tried[rate] = float(run.metrics["validation/bound"][-1])
        rate = min(rates, key=lambda each: tried[each])
        found = evaluate_run(Path(folder) / str(rate), which="last").quantities
    return {
        "rate": rate,
        "tried": tried,
        "seconds": seconds[rate],
        **{name: found[name].value for name in SHOWN},
    }


def main(arguments: list[str] | None = None) -> None:
    """Measures, and writes the record after every estimator."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rates", type=float, nargs="+", default=[1e-3, 3e-3])
    parser.add_argument("--encoders", nargs="+", default=ENCODERS)
    parser.add_argument("--only", nargs="+", default=NAMES)
    parser.add_argument("--images", type=int, default=20)
    parser.add_argument("--draws", type=int, default=2000, help="for each image")
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = {name: getattr(chosen, name) for name in ("epochs", "rates", "images", "draws")} | {
        "n": BASE.n,
        "seed": BASE.seed,
        "epsilon": BASE.epsilon.start,
        "temperature": BASE.temperature.start,
    }
    record: dict[str, Any] = {**settings, **environment()}
    record["rows"] = kept(chosen.output, settings, chosen.encoders, chosen.only)
    x = torch.from_numpy(load_dataset("fashion-mnist-mini").test.images[: chosen.images])
    for encoder in chosen.encoders:
        with tempfile.TemporaryDirectory() as folder:
            vae = reference(encoder, chosen.epochs, folder)
        for name in chosen.only:
            config = configured(name, encoder, chosen.epochs)
            estimator = made(config)
            if estimator is None:
                continue
            row = {"encoder": encoder, "estimator": name, **counted(config)}
            if estimator.kl not in ("none", "weighted"):  # these have another objective
                row |= known(vae, estimator, x, chosen.draws)
            record["rows"].append(row | learnt(config, chosen.rates))
            with whole_file(chosen.output) as part:
                part.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
