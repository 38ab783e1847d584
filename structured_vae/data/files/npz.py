"""Reading of .npz archives that are not trusted: what a header claims is held against what the archive has."""

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
"""By the version of the file; a third is for names of fields, which no array of ours has."""

DAMAGES: Final = (
    *(
        OSError,
        EOFError,
        ValueError,
        OverflowError,
        MemoryError,
        struct.error,
        zlib.error,
        zipfile.BadZipFile,
    ),
    *(
        RuntimeError,
        SyntaxError,
        tokenize.TokenError,
        TypeError,
    ),  # encrypted; numpy, of a header that is no Python
)
"""What zipfile and numpy raise on bytes that are no archive of arrays."""


def read_npz(file: Path, wanted: Iterable[str]) -> dict[str, NDArray[Any]]:
    """Those of the wanted arrays that are there, by name.

    Args:
        file: made by `numpy.savez` or `numpy.savez_compressed`.
        wanted: their names.

    Raises:
        DataError: the archive is damaged, or an array claims more than the archive has.
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
        warnings.simplefilter("ignore", UserWarning)  # of headers that Python 2 wrote
        version = np.lib.format.read_magic(stream)
        if version not in HEADERS:
            raise ValueError(
                f"{member.filename} is of version {version}, which no array of numbers needs"
            )
        shape, _, kind = HEADERS[version](stream)
    claimed, most = math.prod(shape) * kind.itemsize, min(member.file_size, stored * DEFLATE_RATIO)
    if claimed > most:
        raise ValueError(
            f"{member.filename} claims the shape {list(shape)}, which takes {claimed:,} bytes, and has at most {most:,}"
        )
    with archive.open(member) as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array
