"""Files that are none: devices, pipes, folders, links, and files that are huge without taking space."""

from __future__ import annotations

import os
import resource
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from models import load_pretrained
from solvers.formats import read_problem
from solvers.labels.formats import read_problem as read_labels
from structured_vae import load_dataset, load_vae
from structured_vae.runs import Run

from .draws import Draw
from .files import OLDER
from .outcomes import OURS, FalseClaim, in_child

PATIENCE: Final = 30.0
"""Seconds of wall-clock time for a file, on a machine with much else to do."""

ROOM: Final = 700 << 20
"""Bytes that reading may take beside what the process has."""

READERS: Final[dict[str, Callable[[Path], Any]]] = {
    "a.mc": read_problem,
    "a.qubo": read_problem,
    "a.csv": read_problem,
    "a.npz": read_problem,
    "a.max": read_problem,
    "a.mc.gz": read_problem,
    "a.uai": read_labels,
    "a.wcsp": read_labels,
    "a.cfn": read_labels,
    "images.npz": lambda path: load_dataset(str(path)),
}
"""By the name of a file, who reads it."""

OF_FOLDERS: Final[dict[str, tuple[str, Callable[[Path], Any]]]] = {
    "config.yaml": ("run", lambda path: load_vae(path.parent)),
    "metrics.csv": ("run", lambda path: Run.at(path.parent).metrics),
    "checkpoints/best.ckpt": ("run", lambda path: load_vae(path.parents[1])),
    "config.json": ("exported", lambda path: load_pretrained(path.parent)),
    "model.safetensors": ("exported", lambda path: load_pretrained(path.parent)),
}
"""By the name of a file in a folder, the folder and who reads it."""


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(path.parent)
        server.bind(path.name)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


def _huge_line(path: Path) -> None:
    with path.open("wb") as file:
        file.write(b"p " * 50)
        file.truncate(400 << 20)


SPECIAL: Final[tuple[Callable[[Path], Any], ...]] = (
    _pipe,
    _pipe,
    _socket,
    _sparse,
    _huge_line,
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to("/dev/zero"),
    lambda path: path.symlink_to("/dev/full"),
    lambda path: path.symlink_to("/dev/null"),
    lambda path: path.symlink_to("/proc/self/mem"),
    lambda path: path.symlink_to(path.name),
    lambda path: path.symlink_to("nowhere"),
    lambda path: path.symlink_to(path.parent),
    lambda path: path.mkdir(),
    lambda path: path.touch(),
)
"""What may lie where a file should."""


def _special(draw: Draw, folder: Path) -> Callable[[], None]:
    if draw.chance(0.5):
        name = draw.of(tuple(READERS))
        path = folder / name
    else:
        name = draw.of(tuple(OF_FOLDERS))
        kind, _ = OF_FOLDERS[name]
        path = Path(shutil.copytree(OLDER / kind, folder / kind)) / name
    made = draw.whole(0, len(SPECIAL) - 1)

    def call() -> None:
        in_child(_read, (path, name, made), PATIENCE)

    return call


def _read(path: Path, name: str, made: int) -> None:
    """Put something where a file was, and read it: it must be refused without much memory."""
    read = READERS[name] if name in READERS else OF_FOLDERS[name][1]
    path.unlink(missing_ok=True)
    SPECIAL[made](path)
    used = (
        int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[5])
        * resource.getpagesize()
    )
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    most = used + ROOM if hard == resource.RLIM_INFINITY else min(used + ROOM, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    try:
        read(path)
    except OURS:
        return
    except MemoryError as error:
        raise FalseClaim(f"reading takes more than {ROOM >> 20} MB: {path.name}") from error


SPECIAL_CALLS: Final = {"special files": (4, _special)}
"""Weight and maker of each, by the name that the report gives it."""
