"""The command `structured-vae explore`."""

from __future__ import annotations

from jsonargparse import ArgumentParser, Namespace
from rich.console import Console

from .counts import check_count
from .terminal import command


def options() -> ArgumentParser:
    """Make the parser of the command's options."""
    parser = command(
        "explore FOLDER",
        "Explore a trained VAE on a page in the browser: switch each bit or category and watch "
        "the image change, encode images, and draw samples. By default only this machine can "
        "open the page. Press Ctrl-C to stop. Needs the extra structured-vae[explorer].",
    )
    parser.add_argument(
        "folder", type=str, metavar="FOLDER", help="folder of a run or of an exported model"
    )
    parser.add_argument("--address", type=str, default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8501, help="port to listen on")
    return parser


def run(chosen: Namespace, console: Console) -> None:
    """Serve the page until Ctrl-C."""
    check_count("port", chosen.port, most=65535)
    from ..explorer.serve import explore  # loads torch

    explore(chosen.folder, chosen.address, chosen.port)
