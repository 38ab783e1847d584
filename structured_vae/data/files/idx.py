"""Strict reading and writing of IDX files, the format of MNIST and its relatives.

An IDX file is `00 00`, a code for the type of an element, the number of dimensions, each
dimension as a big-endian 32-bit integer, and then the elements. Only unsigned bytes are read.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import os
import struct
import zlib
from io import BufferedIOBase
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, DataNotFoundError

Shape: TypeAlias = tuple[int, ...]

UBYTE: Final = 0x08
"""The code of unsigned bytes."""

GZIP_MAGIC: Final = b"\x1f\x8b"
CHUNK_BYTES: Final = 1 << 20

MAX_DIMENSIONS: Final = 64
"""Maximum number of dimensions of a NumPy array."""

MAX_BYTES: Final = 1 << 30
"""Maximum content of an IDX file; the largest official file that we read has 47 MB."""

DEFLATE_RATIO: Final = 1032
"""Maximum compression ratio of deflate, which codes at most 258 bytes in 2 bits."""


def read_idx(path: str | Path, shape: Shape | None = None) -> NDArray[np.uint8]:
    """Read an IDX file of unsigned bytes into an array, in the shape that its header states.

    The header is checked before any memory is allocated, and decompression stops at the size that
    the header states.

    Args:
        path: the file; it is read as gzip if, and only if, its name ends in `.gz`.
        shape: the shape that the array must have; None allows any.

    Raises:
        DataNotFoundError: there is no such file.
        DataError: the file cannot be read, is not an IDX file of unsigned bytes, has another
            shape, or is truncated, damaged or too long.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "labels-idx1-ubyte"
        ...     write_idx(path, np.array([3, 1], np.uint8))
        ...     read_idx(path, shape=(2,))
        array([3, 1], dtype=uint8)
    """
    path = Path(path)
    decode = decode_idx
    if path.suffix == ".gz":
        decode = decode_gzip_idx
    try:
        with path.open("rb") as file:
            return decode(file, str(path), shape)
    except FileNotFoundError as error:
        raise DataNotFoundError(f"{path}: expected an IDX file, found no such file.") from error
    except OSError as error:
        raise DataError(f"{path}: expected a readable file, found: {error}.") from error


def write_idx(path: str | Path, array: NDArray[np.uint8]) -> None:
    """Write an array as an uncompressed IDX file.

    Args:
        path: the file, which is replaced if it exists.
        array: unsigned bytes of any shape.
    """
    with Path(path).open("wb") as file:
        file.write(_header(array.shape))
        file.write(np.ascontiguousarray(array).data)


def idx_sha256(array: NDArray[np.uint8]) -> str:
    """Return the SHA-256 of the uncompressed IDX file with this array, in hexadecimal."""
    digest = hashlib.sha256(_header(array.shape))
    digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def decode_idx(file: BufferedIOBase, origin: str, shape: Shape | None = None) -> NDArray[np.uint8]:
    """Read the array of an open, uncompressed IDX file.

    Args:
        file: a seekable binary file, at its start.
        origin: where the bytes come from, for the messages.
        shape: the shape that the array must have; None allows any.

    Raises:
        DataError: as in `read_idx`.
    """
    return _decode(file, origin, shape, capacity=_stored_bytes(file))


def decode_gzip_idx(
    file: BufferedIOBase, origin: str, shape: Shape | None = None
) -> NDArray[np.uint8]:
    """Read the array of an open, gzip-compressed IDX file; otherwise as `decode_idx`."""
    stored = _stored_bytes(file)
    _check_gzip_magic(file, origin)
    try:
        with gzip.GzipFile(fileobj=file, mode="rb") as stream:
            return _decode(stream, origin, shape, capacity=stored * DEFLATE_RATIO)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(
            f"{origin}: damaged or truncated gzip data: expected a whole stream with a matching "
            f"checksum in {stored:,} bytes, found: {error}."
        ) from error


def _decode(
    stream: BufferedIOBase, origin: str, shape: Shape | None, capacity: int
) -> NDArray[np.uint8]:
    stored_shape = _read_shape(stream, origin)
    if shape is not None and stored_shape != shape:
        raise DataError(
            f"{origin}: expected shape {shape}, found {stored_shape} in the IDX header."
        )
    _check_size(stored_shape, origin, capacity)
    return _read_elements(stream, origin, math.prod(stored_shape)).reshape(stored_shape)


def _read_shape(stream: BufferedIOBase, origin: str) -> Shape:
    magic = _read_exactly(stream, 4, origin, "the IDX magic number")
    dimension_count = _dimension_count(magic, origin)
    sizes = _read_exactly(stream, 4 * dimension_count, origin, "the IDX dimensions")
    shape: Shape = struct.unpack(f">{dimension_count}I", sizes)
    if 0 in shape:
        raise DataError(f"{origin}: expected dimensions of at least 1, found {shape}.")
    return shape


def _dimension_count(magic: bytes, origin: str) -> int:
    if magic[:2] == GZIP_MAGIC:
        raise DataError(
            f"{origin}: expected an uncompressed IDX file, found gzip data; "
            "rename it so that its name ends in .gz."
        )
    if magic[:2] != b"\0\0":
        raise DataError(
            f"{origin}: expected an IDX magic number 00 00 08 .., found {magic.hex(' ')}."
        )
    if magic[2] != UBYTE:
        raise DataError(
            f"{origin}: expected elements of type 0x08 (unsigned byte), found 0x{magic[2]:02x}."
        )
    if not 1 <= magic[3] <= MAX_DIMENSIONS:
        raise DataError(f"{origin}: expected 1 to {MAX_DIMENSIONS} dimensions, found {magic[3]}.")
    return magic[3]


def _check_size(shape: Shape, origin: str, capacity: int) -> None:
    size = math.prod(shape)
    if size > MAX_BYTES:
        raise DataError(
            f"{origin}: expected at most {MAX_BYTES:,} elements, "
            f"found a header {shape} that claims {size:,}."
        )
    if len(_header(shape)) + size > capacity:
        raise DataError(
            f"{origin}: truncated or damaged: expected {size:,} elements after the header "
            f"{shape}, found a file that holds at most {capacity:,} bytes in all."
        )


def _read_elements(stream: BufferedIOBase, origin: str, size: int) -> NDArray[np.uint8]:
    elements = np.empty(size, np.uint8)
    view = elements.data
    filled = 0
    # Read in chunks, because GzipFile.readinto copies as many bytes as are requested.
    while count := stream.readinto(view[filled : filled + CHUNK_BYTES]):
        filled += count
    if filled < size:
        raise DataError(f"{origin}: truncated: expected {size:,} elements, found {filled:,}.")
    # Reading past the end also makes GzipFile check the checksum of the stream.
    if stream.read(1):
        raise DataError(
            f"{origin}: expected the file to end after {size:,} elements, found trailing bytes."
        )
    return elements


def _read_exactly(stream: BufferedIOBase, count: int, origin: str, what: str) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise DataError(
            f"{origin}: truncated: expected {count} bytes for {what}, found {len(data)}."
        )
    return data


def _check_gzip_magic(file: BufferedIOBase, origin: str) -> None:
    magic = file.read(len(GZIP_MAGIC))
    file.seek(0)
    if magic != GZIP_MAGIC:
        raise DataError(
            f"{origin}: expected gzip data, which starts with {GZIP_MAGIC.hex(' ')}, found "
            f"{magic.hex(' ') or 'an empty file'}; if it is uncompressed, "
            "remove .gz from its name."
        )


def _stored_bytes(file: BufferedIOBase) -> int:
    stored = file.seek(0, os.SEEK_END)
    file.seek(0)
    return stored


def _header(shape: Shape) -> bytes:
    return struct.pack(f">4B{len(shape)}I", 0, 0, UBYTE, len(shape), *shape)
