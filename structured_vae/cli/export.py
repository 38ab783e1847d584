"""`structured-vae export`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from .terminal import command, file_table


def options() -> ArgumentParser:
    """What the command takes."""
    parser = command(
        "export RUN FOLDER",
        "Write the networks of a run into a folder that others can load, and that can be put on the Hugging Face "
        "Hub as it is: model.safetensors, config.json and README.md, a model card with what was measured "
        "(evaluate the run first).",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "target", type=str, metavar="FOLDER", help="for the files; older ones are replaced"
    )
    parser.add_argument(
        "--checkpoint", choices=["best", "last"], default="best", help="which epoch"
    )
    parser.add_argument(
        "--license",
        type=str | None,
        default=None,
        help="of the weights, as the Hugging Face Hub names it; default: mit",
    )
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Exports, and says what it wrote."""
    from models import load_pretrained  # loads torch

    from ..explorer.explored_model import not_shown
    from ..runs.export import export_run

    folder = export_run(chosen.folder, chosen.target, chosen.checkpoint, chosen.license)
    console.print(
        file_table(sorted(path for path in folder.iterdir() if path.is_file()), "exported")
    )
    if not not_shown(load_pretrained(folder)):
        console.print(f"play with it: structured-vae explore {folder}")
