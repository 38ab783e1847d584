"""The command `structured-vae fit-prior`."""

from __future__ import annotations

from pathlib import Path

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console
from rich.table import Table

from .counts import check_count
from .terminal import command, file_table


def options() -> ArgumentParser:
    """Make the parser of the command's options."""
    parser = command(
        "fit-prior RUN FOLDER",
        "Fit a stronger prior to the codes of a trained run. Encoder and decoder do not change. "
        "The "
        "networks are written into a folder, as export does. The table shows what the bound gains.",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument("target", type=str, metavar="FOLDER", help="folder for the files")
    parser.add_argument(
        "--prior",
        choices=["factorised", "gibbs", "linear", "made", "transformer", "flow"],
        default="made",
        help="the prior to fit; of a Gaussian VAE linear, made or flow",
    )
    parser.add_argument("--hidden", type=int, default=0, help="units of a hidden layer; 0: usual")
    parser.add_argument("--layers", type=int, default=0, help="number of layers; 0: usual")
    parser.add_argument("--epochs", type=int, default=20, help="passes over the training images")
    parser.add_argument(
        "--learning_rate", type=float, default=2e-3, help="of Adam at the start; it falls to zero"
    )
    parser.add_argument(
        "--split",
        choices=["train", "validation", "test"],
        default="test",
        help="images of the evaluation before and after",
    )
    parser.add_argument(
        "--checkpoint", choices=["best", "last"], default="best", help="epoch of the run"
    )
    parser.add_argument(
        "--samples", type=int | None, help="posterior samples per image of the evaluations"
    )
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Fit the prior, print the bound before and after, and list the files."""
    check_count("hidden", chosen.hidden, least=0)
    check_count("layers", chosen.layers, least=0)
    check_count("epochs", chosen.epochs)
    check_count("samples", chosen.samples)
    from ..runs.fit_prior import fit_prior  # loads torch

    fitted = fit_prior(
        chosen.folder,
        chosen.prior,
        hidden=chosen.hidden,
        layers=chosen.layers,
        epochs=chosen.epochs,
        learning_rate=chosen.learning_rate,
        split=chosen.split,
        which=chosen.checkpoint,
        samples=chosen.samples,
        target=chosen.target,
    )
    table = Table(
        title=f"{chosen.folder} with the prior {chosen.prior}, {chosen.split} split",
        caption=f"averages over {fitted.after.images} images, in nats",
    )
    table.add_column("", no_wrap=True)
    for heading in ("before", "after"):
        table.add_column(heading, justify="right")
    for name in ("reconstruction", "kl", "bound", "minus_log_p"):
        if name in fitted.after.quantities:
            before = fitted.before.quantities[name].value
            after = fitted.after.quantities[name].value
            table.add_row(name, f"{before:.3f}", f"{after:.3f}")
    console.print(table)
    files = sorted(path for path in Path(chosen.target).iterdir() if path.is_file())
    console.print(file_table(files, "written"))
