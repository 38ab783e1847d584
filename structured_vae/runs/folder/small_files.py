"""Read text files of a run folder without waiting and without filling the memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

CONFIG_SIZE: Final = 1 << 20
"""Maximum size of a configuration in bytes; a typical one has about 1,000."""

RECORD_SIZE: Final = 1 << 28
"""Maximum size of metrics.csv or record.json in bytes; 100,000 epochs take about 50 million."""


def read_small_text(path: Path, largest: int) -> str:
    """Return the text of a plain file.

    Args:
        path: the file; a symbolic link to a plain file is followed.
        largest: maximum size in bytes.

    Raises:
        OSError: there is no such file, or it cannot be read.
        ValueError: it is a pipe, a device or a folder; or it is too large; or it is not UTF-8.
    """
    # Opening a pipe would wait for a writer; reading a device might never end.
    descriptor = os.open(
        path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise ValueError(f"{path} is a folder, pipe or device, not a file")
    with os.fdopen(descriptor, "rb") as file:
        if status.st_size > largest:
            raise ValueError(f"{path} has {status.st_size:,} bytes; at most {largest:,} are read")
        # One byte more than allowed: the file may have grown since its size was read.
        content = file.read(largest + 1)
    if len(content) > largest:
        raise ValueError(f"{path} has more than {largest:,} bytes")
    return content.decode("utf-8")
