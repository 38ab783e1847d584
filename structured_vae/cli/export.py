"""The command `structured-vae export`."""

from __future__ import annotations

import shlex

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from .terminal import command, file_table


def options() -> ArgumentParser:
    """Make the parser of the command's options."""
    parser = command(
        "export RUN FOLDER",
        "Write the networks of a run into a folder that others can load and that is ready for the "
        "Hugging Face Hub: model.safetensors, config.json and a model card, README.md. The card "
        "lists the measured numbers, so evaluate the run first.",
    )
    parser.add_argument("folder", type=str, metavar="RUN", help="folder of the run")
    parser.add_argument(
        "target",
        type=str,
        metavar="FOLDER",
        help="folder for the files; existing files are replaced",
    )
    parser.add_argument(
        "--checkpoint", choices=["best", "last"], default="best", help="epoch to export"
    )
    parser.add_argument(
        "--license",
        type=str | None,
        default=None,
        help="licence of the weights, by its name on the Hugging Face Hub; default: mit",
    )
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Export a run, and list the files that were written."""
    from ..explorer.explored_model import not_shown  # loads torch
    from ..runs.export import export_run
    from ..vaes.registry import load_exported

    folder = export_run(chosen.folder, chosen.target, chosen.checkpoint, chosen.license)
    files = sorted(path for path in folder.iterdir() if path.is_file())
    console.print(file_table(files, "exported"))
    if not not_shown(load_exported(folder)):
        console.print(f"explore it: structured-vae explore {shlex.quote(str(folder))}")
