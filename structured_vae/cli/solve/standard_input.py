"""Read a problem from standard input, whose name on the command line is `-`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from solvers.formats import MAX_BYTES, ProblemFileError

NAME = "-"
"""The name of standard input on the command line."""

SHOWN = Path("standard input")
"""The name of standard input in error messages."""

BLOCK = 2**16
"""The number of bytes that are copied at once."""

ReadT = TypeVar("ReadT")


def reading(file: str, read: Callable[[str], ReadT], max_bytes: int = MAX_BYTES) -> ReadT:
    """Return the result of `read` for the path of a file, or of a copy of standard input.

    Args:
        file: a path, or "-".
        read: reads the file of a path.
        max_bytes: maximum size of standard input.

    Raises:
        ProblemFileError: standard input is too large, or what `read` raises.
        OSError: what `read` raises.
    """
    if file != NAME:
        return read(file)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "problem")
        with copy.open("wb") as stream:
            _copy(sys.stdin.buffer, stream, max_bytes)
        try:
            return read(str(copy))
        except ProblemFileError as error:
            raise ProblemFileError(SHOWN, error.line, error.message) from error


def _copy(source: BinaryIO, target: BinaryIO, max_bytes: int) -> None:
    left = max_bytes
    while block := source.read(BLOCK):
        left -= len(block)
        if left < 0:
            raise ProblemFileError(SHOWN, None, f"it has more than max_bytes = {max_bytes}")
        target.write(block)
