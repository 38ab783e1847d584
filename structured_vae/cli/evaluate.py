"""`structured-vae evaluate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from ..atomic import whole_file
from .terminal import command


def options() -> ArgumentParser:
    """What the command takes."""
    parser = command(
        "evaluate RUN",
        "The bound on -log p(x) of a trained VAE with each of its parts, the likelihood, and what of it is exact.",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "--split", choices=["train", "validation", "test"], default="test", help="which images"
    )
    parser.add_argument(
        "--checkpoint", choices=["best", "last"], default="best", help="which epoch"
    )
    parser.add_argument(
        "--samples",
        type=int | None,
        help="posterior samples an image, where sums are out of reach; default: 1000, a mixture and attributes 10, "
        "a Gaussian 200",
    )
    parser.add_argument(
        "--refine",
        type=int,
        default=0,
        help="moves of a search among the states for each image, n + 1 decodes each, for a tighter bound of up to 62 "
        "bits",
    )
    parser.add_argument(
        "--appearance",
        action="store_true",
        help="train a network that recognises attributes, and ask it how often decoded faces show theirs (minutes)",
    )
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Evaluates, and writes what was found into the run."""
    from ..runs.evaluate import evaluate_run  # loads torch

    which = chosen.folder, chosen.split, chosen.checkpoint, chosen.samples, chosen.refine
    found = evaluate_run(*which, appearance=chosen.appearance)
    evaluation = found.to_dict()
    title = f"{chosen.folder}, {chosen.checkpoint} epoch, {chosen.split} split"
    console.print(evaluation_table(evaluation, title))
    file = Path(chosen.folder) / f"evaluation-{chosen.split}-{chosen.checkpoint}.json"
    with whole_file(file) as part:
        part.write_text(json.dumps(evaluation, indent=1) + "\n", encoding="utf-8")
    console.print(f"written: {file}")


def evaluation_table(evaluation: dict[str, Any], title: str) -> Table:
    """The quantities of an evaluation (`Evaluation.to_dict`), and how well each is known."""
    table = Table(title=title, caption=f"averages over {evaluation['images']} images, in nats")
    for column in ("", "value", "standard error", "known as", "what it is"):
        right = column in ("value", "standard error")
        table.add_column(column, justify="right" if right else "left", no_wrap=not column)
    for name, quantity in evaluation["quantities"].items():
        value, error = (f"{quantity[part]:.3f}" for part in ("value", "standard_error"))
        table.add_row(name, value, error, quantity["kind"], quantity["meaning"])
    return table
