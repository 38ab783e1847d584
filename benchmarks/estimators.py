"""What gradient estimators cost: training steps side by side, as ratios.

    python benchmarks/estimators.py --output results/estimators.json

k categories and the mixture with 100 labelled images against Gumbel-softmax, n = 15 bits against
direct optimization, RAM of 50 bits and of 5 variables of 8 values against direct optimization of
two sides, and products in bfloat16 against those in float32, batch 100; medians, measured turn by
turn in this process.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

# started by its path: this folder's solvers.py would hide the package `solvers`
if not __package__:
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import torch
from rich.console import Console
from rich.table import Table

from benchmarks.interleaved import Contender, medians
from models import paper_vae
from models.networks import train_mixed
from structured_vae import (
    ARM,
    RAM,
    REBAR,
    RELAX,
    Constant,
    Direct,
    DisARM,
    Estimator,
    Exact,
    GumbelSoftmax,
    ImplicitMLE,
    MaximumLikelihood,
    ScoreFunction,
    StraightThrough,
    TrainConfig,
    elbo_recipe,
    load_dataset,
)
from structured_vae.atomic import whole_file
from structured_vae.environment import environment
from structured_vae.estimators import (
    ARMS,
    CARMS,
    NVIL,
    RODEO,
    AdaptiveImplicitMLE,
    DoubleControlVariates,
    GappedStraightThrough,
    GumbelRao,
    MuProp,
    ReinMax,
    ReinMaxCV,
    ReinMaxRao,
    SparseMAP,
    StochasticSoftmax,
    TableDirect,
    UnorderedSet,
)
from structured_vae.objectives import paper_recipe
from structured_vae.runs.assembly import training_of
from structured_vae.runs.networks import vae_of
from structured_vae.runs.trainer.allocator import keep_freed_buffers

BATCH, N, MANY = 100, 15, 50
CHAIN = 1
VARIABLES, VALUES = 5, 8
CATEGORIES = (10, 30, 50)
MIXTURE = ("gumbel_softmax", "direct", "table_direct", "exact")
PRECISIONS = ("32-true", "bf16-mixed")
MIXED = ("general, direct", "general, score function, 4 samples")


def step_of(
    encoder: str,
    n: int,
    estimator: Estimator,
    recipe: str,
    x: torch.Tensor,
    precision: str = "32-true",
    bandwidth: int = 0,
) -> Contender:
    """One training step: estimate, KL, backward, Adam."""
    torch.manual_seed(0)
    sizes = {"n": n}
    if encoder == "categorical":
        sizes = {"k": n}
    vae = paper_vae(encoder, bandwidth=bandwidth, **sizes).to(x.device)
    if precision == "bf16-mixed":
        train_mixed(vae)
    estimator = estimator.to(x.device)
    parameters = [*vae.parameters(), *estimator.parameters()]
    adam = torch.optim.Adam(parameters, lr=1e-3, fused=True)
    noise = torch.Generator(x.device).manual_seed(0)
    make = {"paper": paper_recipe, "elbo": elbo_recipe}[recipe]

    def step() -> None:
        q = estimator.posterior(vae.encoder(x))
        objective = make(vae, x, q, estimator.kl)
        estimate = estimator(q, objective.cost, noise)
        adam.zero_grad()
        ((estimate.surrogate + objective.kl).mean() + estimate.tuning).backward()
        adam.step()
        if x.is_cuda:
            torch.cuda.synchronize()

    return step


def categorical(k: int) -> dict[str, Estimator]:
    """The estimators for k categories."""
    return {
        "Gumbel-softmax": GumbelSoftmax(Constant(0.5)),
        "straight-through": StraightThrough(Constant(0.5)),
        "direct": Direct(epsilon=Constant(0.1)),
        "table_direct": TableDirect(Constant(0.1)),
        "exact": Exact(),
        "maximum likelihood": MaximumLikelihood(),
        "score function, 4 samples": ScoreFunction(4),
        "CARMS, 4 samples": CARMS(4),
        "unordered set, 4 samples": UnorderedSet(4),
        "REBAR": REBAR(),
        "RELAX": RELAX(k),
    }


def bits() -> dict[str, tuple[str, Estimator]]:
    """Encoders and estimators for 15 bits."""
    return {
        "independent, direct": ("independent", Direct("independent", Constant(0.1))),
        "independent, direct, two-sided": (
            "independent",
            Direct("independent", Constant(0.1), sides=2),
        ),
        "independent, RAM": ("independent", RAM()),
        "independent, Gumbel-softmax": ("independent", GumbelSoftmax(Constant(0.5))),
        "independent, straight-through": ("independent", StraightThrough(Constant(0.5))),
        "independent, Gumbel-Rao": ("independent", GumbelRao(Constant(0.5))),
        "independent, gapped straight-through": (
            "independent",
            GappedStraightThrough(Constant(0.5)),
        ),
        "independent, ReinMax": ("independent", ReinMax()),
        "independent, ReinMax-Rao": ("independent", ReinMaxRao(Constant(0.5))),
        "independent, ReinMax-CV": ("independent", ReinMaxCV(Constant(0.5))),
        "independent, REBAR": ("independent", REBAR()),
        "independent, RELAX": ("independent", RELAX(N)),
        "independent, ARM": ("independent", ARM()),
        "independent, DisARM": ("independent", DisARM()),
        "independent, ARMS, 4 samples": ("independent", ARMS(4)),
        "independent, NVIL": ("independent", NVIL(N)),
        "independent, MuProp": ("independent", MuProp()),
        "independent, double control variates": ("independent", DoubleControlVariates()),
        "independent, RODEO": ("independent", RODEO()),
        "independent, unordered set, 4 samples": ("independent", UnorderedSet(4)),
        "independent, score function, 4 samples": ("independent", ScoreFunction(4)),
        "supermodular, direct": ("supermodular", Direct("max_flow", Constant(0.1))),
        "general, direct": ("general", Direct("exhaustive", Constant(0.1))),
        "general, direct, two-sided": ("general", Direct("exhaustive", Constant(0.1), sides=2)),
        "general, RAM": ("general", RAM()),
        "general, implicit MLE": ("general", ImplicitMLE("exhaustive", Constant(0.1))),
        "general, adaptive implicit MLE": ("general", AdaptiveImplicitMLE("exhaustive")),
        "general, stochastic softmax": ("general", StochasticSoftmax("exhaustive", Constant(0.5))),
        "general, SparseMAP": ("general", SparseMAP("exhaustive")),
        "general, score function, 4 samples": ("general", ScoreFunction(4)),
    }


def many_bits(x: torch.Tensor) -> dict[str, Contender]:
    """50 bits: independent, and coupled in a chain."""
    return {
        "independent, direct, two-sided": step_of(
            "independent", MANY, Direct("independent", Constant(0.1), sides=2), "elbo", x
        ),
        "independent, RAM": step_of("independent", MANY, RAM(), "elbo", x),
        "chain, direct, two-sided": step_of(
            "general",
            MANY,
            Direct("elimination", Constant(0.1), sides=2),
            "elbo",
            x,
            bandwidth=CHAIN,
        ),
        "chain, RAM": step_of("general", MANY, RAM(), "elbo", x, bandwidth=CHAIN),
        "chain, RAM, 10 completions": step_of(
            "general", MANY, RAM(completions=10), "elbo", x, bandwidth=CHAIN
        ),
    }


def several_variables(x: torch.Tensor) -> dict[str, Contender]:
    """5 variables of 8 values: independent; coupled on a chain; and all pairs, by Potts scores or by tables."""
    kinds: dict[str, dict[str, Any]] = {
        "independent": {},
        "chain": {"couplings": "general", "bandwidth": CHAIN},
        "Potts": {"couplings": "potts"},
        "general": {"couplings": "general"},
    }
    estimators: dict[str, dict[str, Any]] = {
        "direct, two-sided": {"estimator": "direct", "sides": 2},
        "RAM": {"estimator": "ram"},
    }
    base = {"encoder": "categorical", "variables": VARIABLES, "k": VALUES, "recipe": "elbo"}
    return {
        f"{kind}, {name}": training_step_of(TrainConfig(**base, **couplings, **options), x)
        for kind, couplings in kinds.items()
        for name, options in estimators.items()
    }


def mixture_step_of(
    estimator: str, x: torch.Tensor, classes: torch.Tensor, precision: str = "32-true"
) -> Contender:
    """One training step of the mixture, with as many labelled images as others."""
    config = TrainConfig(model="mixture", labels=BATCH, estimator=estimator, precision=precision)
    return training_step_of(config, x, x, classes)


def training_step_of(config: TrainConfig, *batch: torch.Tensor) -> Contender:
    """One step of the training that is configured: loss, backward, Adam."""
    training = training_of(config, vae_of(config, pixels=batch[0].shape[1])).to(batch[0].device)
    training.on_train_epoch_start()
    adam = training.configure_optimizers()

    def step() -> None:
        adam.zero_grad()
        training.loss(*batch).backward()
        adam.step()
        if batch[0].is_cuda:
            torch.cuda.synchronize()

    return step


def main() -> None:
    """Prints tables and writes the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--output", type=Path, default=Path("results/estimators.json"))
    options = parser.parse_args()
    keep_freed_buffers()  # as a training does
    train = load_dataset("fashion-mnist-mini").train
    x, classes = (
        torch.from_numpy(each[:BATCH]).to(options.device) for each in (train.images, train.labels)
    )
    tables: dict[str, dict[str, float]] = {}
    console = Console(width=100)
    for k in CATEGORIES:
        steps = {
            name: step_of("categorical", k, each, "elbo", x)
            for name, each in categorical(k).items()
        }
        tables[f"k = {k}"] = report(
            console, f"{k} categories", steps, options.rounds, "Gumbel-softmax"
        )
    steps = {name: step_of(encoder, N, each, "elbo", x) for name, (encoder, each) in bits().items()}
    tables[f"n = {N}"] = report(console, f"{N} bits", steps, options.rounds, "independent, direct")
    tables[f"n = {MANY}"] = report(
        console, f"{MANY} bits", many_bits(x), options.rounds, "independent, direct, two-sided"
    )
    steps = several_variables(x)
    tables[f"{VARIABLES} variables of {VALUES} values"] = report(
        console,
        f"{VARIABLES} variables of {VALUES} values",
        steps,
        options.rounds,
        next(iter(steps)),
    )
    steps = {name: mixture_step_of(name, x, classes) for name in MIXTURE}
    tables["mixture"] = report(
        console, "mixture of 10 classes", steps, options.rounds, "gumbel_softmax"
    )
    for name in MIXED:
        encoder, estimator = bits()[name]
        steps = {each: step_of(encoder, N, estimator, "elbo", x, each) for each in PRECISIONS}
        tables[f"n = {N}, {name}"] = report(
            console, f"{N} bits, {name}", steps, options.rounds, PRECISIONS[0]
        )
    steps = {each: mixture_step_of("direct", x, classes, each) for each in PRECISIONS}
    tables["mixture, direct"] = report(
        console, "mixture, direct", steps, options.rounds, PRECISIONS[0]
    )
    record = {
        **environment(),
        "device": options.device,
        "threads": torch.get_num_threads(),
        "batch": BATCH,
    }
    with whole_file(options.output) as part:
        part.write_text(
            json.dumps({**record, "ms_a_step": tables}, indent=1) + "\n", encoding="utf-8"
        )
    console.print(f"written: {options.output}")


def report(
    console: Console, title: str, steps: Mapping[str, Contender], rounds: int, reference: str
) -> dict[str, float]:
    """Medians in milliseconds, printed with their ratios."""
    times = medians(steps, rounds)
    rows = Table(title=f"training step, {title}, batch {BATCH}")
    for column in ("", "ms", f"ratio to {reference}"):
        rows.add_column(column, justify="left" if not column else "right")
    for name, value in times.items():
        rows.add_row(name, f"{value:.3g}", f"{value / times[reference]:.3g}")
    console.print(rows)
    return times


if __name__ == "__main__":
    main()
