"""Files that are there whole or not at all, also after a power cut."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

TEMPORARY: Final = re.compile(
    r"\.(?P<target>.+)\.(?P<process>[0-9]+)-(?P<random>[0-9a-f]{16})\.structured-vae-tmp"
)
"""The names of temporary files. Files of any other name belong to the user, also if they are hidden."""

LONGEST_TARGET: Final = 40
"""Characters of the target that a temporary name repeats, since most file systems allow names of 255 bytes."""


@contextmanager
def whole_file(path: Path, inside: Path | None = None) -> Iterator[Path]:
    """A temporary path beside `path`; what is written there takes the place of `path` at the end.

    Args:
        path: of the file; folders on the way are made.
        inside: a folder that must be there already, in which `path` lies; only folders below it are
            made.

    Raises:
        IsADirectoryError: `path` is a folder.
        FileNotFoundError: `inside` is not there.
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "note.txt"
        >>> with whole_file(target) as part:
        ...     _ = part.write_text("all of it")
        >>> target.read_text()
        'all of it'
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if inside is not None and not inside.is_dir():
        raise FileNotFoundError(f"the folder {inside} is gone")
    if inside is None or path.parent != inside:
        path.parent.mkdir(parents=inside is None, exist_ok=True)
    part = temporary_path(path)
    try:
        yield part
        _wait_for_disk(part)  # or a power cut could leave the new name with nothing in it
        os.replace(part, path)
        _wait_for_disk(path.parent)
    finally:
        part.unlink(missing_ok=True)


def temporary_path(path: Path) -> Path:
    """Return a new name beside `path`, which no other file has and `remove_leftovers` recognises."""
    target = path.name[:LONGEST_TARGET]
    return path.with_name(f".{target}.{os.getpid()}-{secrets.token_hex(8)}.structured-vae-tmp")


def remove_leftovers(folder: Path, targets: Sequence[str]) -> None:
    """Delete the temporary files that `whole_file` left in `folder` when its process was killed.

    Files of living processes stay, and so does every file that `whole_file` did not name. A folder
    that is a symbolic link is left alone, since it leads to a place that the user chose for other
    files too.

    Args:
        folder: where to look; its own folders are not searched.
        targets: patterns of the files that are written there, such as "*.png".
    """
    if folder.is_symlink() or not folder.is_dir():
        return
    for path in folder.iterdir():
        if _is_leftover(path, targets):
            with suppress(OSError):  # a file that cannot be deleted does no harm
                path.unlink()


def _is_leftover(path: Path, targets: Sequence[str]) -> bool:
    name = TEMPORARY.fullmatch(path.name)
    if name is None or path.is_symlink() or not path.is_file():
        return False
    if not any(fnmatchcase(name["target"], pattern) for pattern in targets):
        return False
    return not _is_another_process(int(name["process"]))


def _wait_for_disk(path: Path) -> None:
    """Returns when the content of a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():  # which Windows does not offer
        return
    descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_another_process(number: int) -> bool:
    """Whether a process of this machine other than this one has the number."""
    if os.name == "nt" or number == os.getpid():  # on Windows the signal 0 is Ctrl-C
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:  # someone else's
        return True
    return True
