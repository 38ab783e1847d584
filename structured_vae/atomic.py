"""Files that are there whole or not at all, also after a power cut."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

TEMPORARY: Final = re.compile(r"\.(\d+)-.")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; what is written there takes the place of `path` at the end.

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
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        yield part
        _wait_for_disk(part)  # or a power cut could leave the new name with nothing in it
        os.replace(part, path)
        _wait_for_disk(path.parent)
    finally:
        part.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Deletes what `whole_file` left in `folder` where its process was killed; files of living processes stay."""
    for path in folder.glob(".*"):
        if (found := TEMPORARY.match(path.name)) and not _is_another_process(int(found[1])):
            with suppress(OSError):  # what cannot be deleted is in nobody's way
                path.unlink()


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
