"""Read untrusted .npz archives: the size that a header claims is checked against the archive."""

from __future__ import annotations

import math
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError
from .idx import DEFLATE_RATIO

HEADERS: Final = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
"""The header reader for each format version; version 3 is for field names, which we do not use."""

DAMAGES: Final = (
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
    RuntimeError,  # zipfile, if the archive is encrypted
    SyntaxError,  # this and the next two: numpy, if a header is not valid Python
    tokenize.TokenError,
    TypeError,
)
"""The exceptions that zipfile and numpy raise on bytes that are not an archive of arrays."""


def read_npz(file: Path, wanted: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Read the wanted arrays from an archive, by name; missing ones are left out.

    Args:
        file: an archive made by `numpy.savez` or `numpy.savez_compressed`.
        wanted: the names of the arrays.

    Raises:
        DataError: the archive is damaged, or an array claims more bytes than the archive has.
    """
    try:
        stored = file.stat().st_size
        with zipfile.ZipFile(file) as archive:
            members = {
                member.filename.removesuffix(".npy"): member for member in archive.infolist()
            }
            return {
                name: _read(archive, members[name], stored) for name in wanted if name in members
            }
    except DAMAGES as error:
        raise DataError(f"{file}: {error}") from error


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo, stored: int) -> NDArray[Any]:
    with archive.open(member) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # numpy warns about headers from Python 2
        version = np.lib.format.read_magic(stream)
        if version not in HEADERS:
            raise ValueError(
                f"{member.filename} has format version {version}; only "
                "1.0 and 2.0 can hold an array of numbers"
            )
        shape, _, kind = HEADERS[version](stream)
    claimed = math.prod(shape) * kind.itemsize
    available = min(member.file_size, stored * DEFLATE_RATIO)
    if claimed > available:
        raise ValueError(
            f"{member.filename} claims the shape {list(shape)}, which takes {claimed:,} bytes, "
            f"but the archive holds at most {available:,}"
        )
    with archive.open(member) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
