"""Read numpy archives with the arrays of `Problem.from_arrays`."""

from __future__ import annotations

import math
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO, Literal

import numpy as np

from ...conversions.conversion import Conversion
from ...problems.problem import Problem
from ..errors import ProblemFileError

NAMES = ("unary", "pairwise", "edges")
"""The names of the arrays."""

HEADER = re.compile(
    r"\{'descr': '(\|[biu]1|[<>][iuf][248])', 'fortran_order': (True|False), "
    r"'shape': \(([0-9, ]*)\),? *\}\s*"
)
"""The header of an array of real numbers: type, order and shape."""

MAX_HEADER = 4096
"""Largest length of a header in bytes."""


def read_npz(path: Path, max_bytes: int) -> Conversion:
    """Read the arrays `unary`, and optionally `pairwise` and `edges`, in this library's convention.

    Nothing is unpickled, and the size of an array is checked against the archive before reading.

    Raises:
        ProblemFileError: the file has another form, or its arrays take more than `max_bytes`.
        ProblemError: the arrays do not describe a problem.
    """
    arrays = _load(path, max_bytes)
    _check_batch(path, arrays, max_bytes)
    problem = Problem.from_arrays(
        arrays["unary"], arrays.get("pairwise"), edges=arrays.get("edges")
    )
    return Conversion(problem, 1, 0.0, range(problem.n))


def _load(path: Path, max_bytes: int) -> dict[str, np.ndarray]:
    with path.open("rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = {
                    member.filename.removesuffix(".npy"): member for member in archive.infolist()
                }
                _check_members(path, members, max_bytes)
                return {name: _read(path, archive, member) for name, member in members.items()}
        except ProblemFileError:
            raise
        except (
            *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
            # zipfile raises these for encrypted, badly named or badly placed members.
            *(RuntimeError, ValueError, OverflowError),
        ) as error:
            raise ProblemFileError(path, None, f"the archive is damaged: {error}") from error


def _check_members(path: Path, members: dict[str, zipfile.ZipInfo], max_bytes: int) -> None:
    if "unary" not in members or set(members) - set(NAMES):
        names = [name[:40] for name in members][:8]
        raise ProblemFileError(
            path, None, f"expected the arrays unary, pairwise, edges; there are {names}"
        )
    size = sum(member.file_size for member in members.values())
    if size > max_bytes:
        raise ProblemFileError(
            path, None, f"the arrays take {size} bytes, more than max_bytes = {max_bytes}"
        )
    for name, member in members.items():
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise ProblemFileError(
                path, None, f"{name} is compressed by a method that numpy does not use"
            )


def _read(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    """Return one array, after checking its header against the bytes that follow it."""
    with archive.open(member) as stream:
        header = HEADER.fullmatch(_header(stream))
        if header is None:
            raise ProblemFileError(path, None, f"{member.filename} is not an array of real numbers")
        dtype = np.dtype(header[1])
        shape = tuple(int(length) for length in re.findall(r"[0-9]+", header[3]))
        size = math.prod(shape) * dtype.itemsize
        left = member.file_size - stream.tell()
        data = b""
        if size == left:
            data = stream.read(size)
        if not size == left == len(data):
            message = f"{member.filename} has {left} bytes of {dtype} and claims the shape {shape}"
            raise ProblemFileError(path, None, message[:400])
    flat = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    order: Literal["C", "F"] = "C"
    if header[2] == "True":
        order = "F"
    return flat.reshape(shape, order=order)


def _header(stream: IO[bytes]) -> str:
    """Return the text before the numbers of a .npy file."""
    major, _ = np.lib.format.read_magic(stream)
    if major == 1:
        (length,) = struct.unpack("<H", stream.read(2))
    else:
        (length,) = struct.unpack("<I", stream.read(4))
    if length <= MAX_HEADER:
        return stream.read(length).decode("latin1")
    return ""


def _check_batch(path: Path, arrays: dict[str, np.ndarray], max_bytes: int) -> None:
    """Raise if leading dimensions broadcast to a batch that takes more than `max_bytes`."""
    unary = arrays["unary"]
    pairwise = arrays.get("pairwise", np.zeros(0))
    is_list = "edges" in arrays or pairwise.ndim < 2
    if is_list:
        leading = pairwise.shape[:-1]
    else:
        leading = pairwise.shape[:-2]
    try:
        batch = math.prod(np.broadcast_shapes(unary.shape[:-1], leading))
    except ValueError:
        return  # the error of `Problem` is clearer
    if 8 * batch * max(1, *unary.shape[-1:], *pairwise.shape[-1:]) > max_bytes:
        raise ProblemFileError(
            path, None, f"a batch of {batch} takes more than max_bytes = {max_bytes}"
        )
