"""The command `structured-vae evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from ..atomic import whole_file
from .counts import check_count
from .terminal import command


def options() -> ArgumentParser:
    """Make the parser of the command's options."""
    parser = command(
        "evaluate RUN",
        "Evaluate a trained VAE: the bound on -log p(x) and each of its terms, and an estimate of "
        "-log p(x). The table says which numbers are exact, bounds or estimates.",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "--split",
        choices=["train", "validation", "test"],
        default="test",
        help="images to evaluate on",
    )
    parser.add_argument(
        "--checkpoint", choices=["best", "last"], default="best", help="epoch to evaluate"
    )
    parser.add_argument(
        "--samples",
        type=int | None,
        help="posterior samples per image, if exact sums are not tractable; default: 1000 for "
        "discrete models, 10 for mixtures and attributes, 200 for Gaussians",
    )
    parser.add_argument(
        "--refine",
        type=int,
        default=0,
        help="moves of a local search over the states of each image, with n + 1 decodes per move, "
        "for a tighter bound of up to 62 bits",
    )
    parser.add_argument(
        "--importance",
        type=int,
        nargs="+",
        default=[],
        metavar="K",
        help="numbers of samples, such as 1 10 100 1000; each gives an importance-weighted "
        "bound on -log p(x)",
    )
    parser.add_argument(
        "--appearance",
        action="store_true",
        help="train a network that recognises attributes, and measure how often decoded faces "
        "show their attributes (takes minutes)",
    )
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Evaluate a run, and write the result into its folder."""
    check_count("samples", chosen.samples)
    check_count("refine", chosen.refine, least=0)
    for samples in chosen.importance:
        check_count("importance", samples)
    from ..runs.evaluate import evaluate_run  # loads torch

    evaluation = evaluate_run(
        chosen.folder,
        chosen.split,
        chosen.checkpoint,
        chosen.samples,
        chosen.refine,
        appearance=chosen.appearance,
        importance=chosen.importance,
    ).to_dict()
    title = f"{chosen.folder}, {chosen.checkpoint} epoch, {chosen.split} split"
    console.print(evaluation_table(evaluation, title))
    file = Path(chosen.folder) / f"evaluation-{chosen.split}-{chosen.checkpoint}.json"
    with whole_file(file) as unfinished:
        unfinished.write_text(json.dumps(evaluation, indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {file}")


def evaluation_table(evaluation: dict[str, Any], title: str) -> Table:
    """Make a table of the quantities of an evaluation (`Evaluation.to_dict`)."""
    table = Table(title=title, caption=f"averages over {evaluation['images']} images, in nats")
    table.add_column("", no_wrap=True)
    table.add_column("value", justify="right")
    table.add_column("standard error", justify="right")
    table.add_column("known as")
    table.add_column("what it is")
    for name, quantity in evaluation["quantities"].items():
        value = f"{quantity['value']:.3f}"
        error = f"{quantity['standard_error']:.3f}"
        table.add_row(name, value, error, quantity["kind"], quantity["meaning"])
    return table
