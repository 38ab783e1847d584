"""Atomic writes: a file is complete or absent, even after a power cut."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import Final

TEMPORARY: Final = re.compile(
    r"\.(?P<target>.+)\.(?P<process>[0-9]+)-(?P<random>[0-9a-f]{16})\.structured-vae-tmp"
)
"""The names of temporary files. Files with any other name belong to the user, even hidden ones."""

WITHOUT_ROOM: Final = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a full disk and of a used quota. A failed write does not name its file."""

LONGEST_TARGET: Final = 40
"""Maximum number of characters of the target in a temporary name; file systems allow 255 bytes."""


@contextmanager
def whole_file(path: Path, inside: Path | None = None) -> Iterator[Path]:
    """Yield a temporary path beside `path`; at the end, the file there replaces `path`.

    A device or a pipe, such as /dev/stdout, is not replaced: the content is written into it.

    Args:
        path: the file; missing parent folders are made. If it is a symbolic link and `inside` is
            None, the file that it leads to is replaced, and the link stays.
        inside: a folder that contains `path` and must exist; only folders below it are made.

    Raises:
        IsADirectoryError: `path` is a folder.
        FileNotFoundError: `inside` does not exist.
        OSError: the file cannot be written. If the disk is full, the error names `path`.

    Example:
        >>> import tempfile
        >>> target = Path(tempfile.mkdtemp()) / "note.txt"
        >>> with whole_file(target) as unfinished:
        ...     _ = unfinished.write_text("all of it")
        >>> target.read_text()
        'all of it'
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder")
    if path.exists() and not path.is_file():
        with _written_into(path) as unfinished:
            yield unfinished
        return
    if inside is None and path.is_symlink():
        path = path.resolve()
    if inside is not None and not inside.is_dir():
        raise FileNotFoundError(f"the folder {inside} does not exist any more")
    if inside is None or path.parent != inside:
        path.parent.mkdir(parents=inside is None, exist_ok=True)
    unfinished = temporary_path(path)
    try:
        yield unfinished
        _wait_for_disk(unfinished)  # else a power cut could leave an empty file under the new name
        os.replace(unfinished, path)
        _wait_for_disk(path.parent)
    except OSError as error:
        if error.errno not in WITHOUT_ROOM:
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def _written_into(special: Path) -> Iterator[Path]:
    """Yield a temporary path; at the end, write the file there into a device or a pipe."""
    with TemporaryDirectory() as folder:
        unfinished = Path(folder, special.name)
        yield unfinished
        with unfinished.open("rb") as content, special.open("wb") as stream:
            copyfileobj(content, stream)


def temporary_path(path: Path) -> Path:
    """Return an unused name beside `path` that `remove_leftovers` recognises."""
    target = path.name[:LONGEST_TARGET]
    return path.with_name(f".{target}.{os.getpid()}-{secrets.token_hex(8)}.structured-vae-tmp")


def remove_leftovers(folder: Path, targets: Sequence[str]) -> None:
    """Delete the temporary files that `whole_file` left in `folder` when its process was killed.

    Files of running processes stay, and so does every file that `whole_file` did not name. A folder
    that is a symbolic link is skipped, since the user may keep other files where it leads.

    Args:
        folder: the folder to clean up; its subfolders are not searched.
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
    """Wait until the content of a file, or the names in a folder, are on the disk."""
    if os.name == "nt" and path.is_dir():  # Windows cannot flush a folder
        return
    if path.is_dir():
        access = os.O_RDONLY
    else:
        access = os.O_RDWR
    descriptor = os.open(path, access)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_another_process(number: int) -> bool:
    """Return True if another running process of this machine has this number."""
    if os.name == "nt" or number == os.getpid():  # on Windows, signal 0 is Ctrl-C
        return False
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True
