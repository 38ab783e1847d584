"""Settings of the cells of `structured-vae reproduce` that the paper does not name, by bounds of validation images.

    STRUCTURED_VAE_DATA=... python -m benchmarks.cell_settings --output results/cell_settings.json

Each cell is trained with other rates, other annealing, another epsilon or temperature, for fewer
epochs than its records have, over which the rate falls to zero and the weight of the KL to 1 in the
same part of them. What the record has is not trained again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from benchmarks.validation import complete
from structured_vae import TrainConfig
from structured_vae.reproduction import Experiment
from structured_vae.schedules import ExponentialDecay
from structured_vae.vaes.config import known

NOT_ANNEALED: Final[dict[str, Any]] = {"kl_start": 0.0, "kl_warmup": 0}


def annealed(*starts: int) -> dict[str, dict[str, Any]]:
    """The KL as it is, and weights of it that a training begins with instead."""
    return {"not annealed": NOT_ANNEALED} | {
        f"annealed from {start}": {"kl_start": float(start)} for start in starts
    }


def beginning(name: str, *values: float) -> dict[str, dict[str, Any]]:
    """A setting that decays from each value, as it does from that of the cell."""
    return {f"{name} {value:g}": {name: ExponentialDecay(start=value)} for value in values}


@dataclass(frozen=True)
class Choice:
    """What was tried for a cell.

    Attributes:
        epochs: of each training.
        settings: by name; what a setting does not say is the cell's.
    """

    epochs: int
    settings: Mapping[str, Mapping[str, Any]]


SLOWER: Final = {"not annealed, half the rate": {**NOT_ANNEALED, "learning_rate": 1e-3}}
DIRECT: Final = Choice(25, {**SLOWER, **annealed(2, 4, 10)})
GIBBS: Final = Choice(25, {**SLOWER, **annealed(4, 10, 30)})
CHOICES: Final = {
    "structured/general-direct-annealed": DIRECT,
    "structured/supermodular-direct-annealed": Choice(25, {**DIRECT.settings, **annealed(30)}),
    "structured/independent-direct-annealed": DIRECT,
    "structured/general-gibbs-annealed": GIBBS,
    "structured/independent-gibbs-annealed": GIBBS,
    "table1/mnist-k20-exact": Choice(20, annealed(10, 30, 100)),
    "table1/mnist-k20-direct": Choice(
        20, {**annealed(10, 30, 100), **beginning("epsilon", 0.1, 0.3)}
    ),
    "table1/mnist-k20-gumbel_softmax": Choice(
        20, {**annealed(30), **beginning("temperature", 0.5, 1.0)}
    ),
    "table1/fashion-mnist-k20-direct": Choice(
        20, {**annealed(10, 30, 100), **beginning("epsilon", 0.1, 0.3)}
    ),
}
"""By experiment and cell, in the order in which they are trained."""


def configured(cell: str, setting: str, seed: int = 0) -> TrainConfig:
    """The training of a row."""
    experiment, _, name = cell.partition("/")
    (found,) = Experiment.named(experiment).cells([seed], only=f"^{name}$")
    choice = CHOICES[cell]
    config = replace(found.config, **choice.settings[setting])
    return replace(
        config,
        epochs=choice.epochs,
        kl_warmup=known(config.kl_warmup) * choice.epochs // config.epochs,
    )


def main(arguments: list[str] | None = None) -> None:
    """Trains what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", choices=CHOICES, default=list(CHOICES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--output", type=Path, required=True)
    chosen = parser.parse_args(arguments)
    rows = [
        (cell, setting, seed)
        for cell, seed in product(chosen.cells, chosen.seeds)
        for setting in CHOICES[cell].settings
    ]
    complete(
        chosen.output,
        (
            (
                {"cell": cell, "epochs": CHOICES[cell].epochs, "setting": setting, "seed": seed},
                configured(cell, setting, seed),
            )
            for cell, setting, seed in rows
        ),
    )


if __name__ == "__main__":
    main()
