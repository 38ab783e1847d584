"""`structured-vae explore`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from .terminal import command


def options() -> ArgumentParser:
    """What the command takes."""
    parser = command(
        "explore FOLDER",
        "A page in the browser, of this machine alone, where every bit or category is a switch and the image "
        "follows, images are encoded, and samples drawn. Needs the extra structured-vae[explorer]. Ctrl-C ends it.",
    )
    parser.add_argument(
        "folder", type=str, metavar="FOLDER", help="of a run, or one that export wrote"
    )
    parser.add_argument("--address", type=str, default="127.0.0.1", help="to listen at")
    parser.add_argument("--port", type=int, default=8501, help="to listen at")
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Serves the page until Ctrl-C."""
    from ..explorer.serve import explore  # loads torch

    explore(chosen.folder, chosen.address, chosen.port)
