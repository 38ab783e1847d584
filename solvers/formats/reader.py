"""Read any problem file, by the name of its format or by what it looks like."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from ..conversions.conversion import Conversion
from ..errors import OptionError, ProblemError, did_you_mean, shortened
from ..options import check_whole
from .biq_mac import read_biq_mac, read_or_library
from .csv import read_csv
from .dimacs import read_dimacs
from .errors import ProblemFileError
from .max_cut import read_max_cut
from .npz import read_npz
from .qbsolv import read_qbsolv
from .qplib import read_qplib
from .text import TextFile
from .uai import read_uai

MAX_BYTES = 2**28
"""Largest size of a text, after decompression, unless the caller says otherwise."""

ReadT = TypeVar("ReadT")


@dataclass(frozen=True)
class Format(Generic[ReadT]):
    """A file format for problems.

    Attributes:
        about: the contents of the file, and the meaning of the conversion's `value`.
        read: reads a path within a limit on bytes.
        first_words: the first words of the text; empty where they do not identify the format.
        suffixes: suffixes that identify the format where the text does not.
    """

    about: str
    read: Callable[[Path, int], ReadT]
    first_words: tuple[bytes, ...] = ()
    suffixes: tuple[str, ...] = ()


def lines(read: Callable[[TextFile], ReadT], path: Path, max_bytes: int) -> ReadT:
    """Return what `read` makes of a text file."""
    return read(TextFile(path, max_bytes))


FORMATS: Mapping[str, Format[Conversion]] = {
    "npz": Format("numpy arrays unary, pairwise, edges; the score", read_npz),
    "qubo": Format(
        "Biq Mac: 'n m', then 'i j q' of one triangle; x'Qx minimised",
        partial(lines, read_biq_mac),
        suffixes=(".sparse", ".qubo"),
    ),
    "orlib": Format(
        "OR-Library: the layout of qubo; x'Qx maximised", partial(lines, read_or_library)
    ),
    "qbsolv": Format(
        "'p qubo 0 n nodes couplers'; sum of q x and q x x minimised",
        partial(lines, read_qbsolv),
        (b"p", b"qubo"),
    ),
    "maxcut": Format(
        "rudy, G-set: 'n m', then 'i j w'; weight of the cut maximised",
        partial(lines, read_max_cut),
        suffixes=(".rud", ".rudy", ".mc", ".maxcut"),
    ),
    "qplib": Format(
        "QPLIB: type QBB or QBN; half of the listed quadratic terms, minimised or maximised",
        partial(lines, read_qplib),
        suffixes=(".qplib",),
    ),
    "csv": Format(
        "a table with the columns i, j and score, a variable's own where j is empty; the score",
        partial(lines, read_csv),
        suffixes=(".csv",),
    ),
    "uai": Format("MARKOV; sum of log factors maximised", partial(lines, read_uai), (b"MARKOV",)),
    "dimacs": Format(
        "'p max'; minimum cut, the maximum flow", partial(lines, read_dimacs), (b"p", b"max")
    ),
}
"""Every format, by name."""


def read_problem(
    path: str | os.PathLike[str], format: str | None = None, *, max_bytes: int = MAX_BYTES
) -> Conversion:
    r"""Read a problem from a file, plain or gzip, with the way back to the file's objective.

    Args:
        path: a regular file.
        format: a name of `FORMATS`; None to take it from the first words, or else from the suffix.
        max_bytes: maximum size of the text after decompression, and of the arrays that a header
            can ask for.

    Raises:
        ProblemFileError: the file does not contain a problem of that format, or no format fits it.
        OptionError: no format has that name, `path` is not a path, or `max_bytes` is not a number
            of bytes.
        OSError: the file cannot be read.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "triangle.mc")
        ...     _ = path.write_text("3 3\n1 2 1\n2 3 1\n1 3 5\n")
        ...     graph = read_problem(path)
        >>> float(graph.value(graph.problem.score([1, 0, 0])))
        6.0
    """
    return read_by(FORMATS, path, format, max_bytes)


def read_by(
    formats: Mapping[str, Format[ReadT]],
    path: str | os.PathLike[str],
    format: str | None,
    max_bytes: int = MAX_BYTES,
) -> ReadT:
    """Read a file by one of some formats; arguments and errors are those of `read_problem`."""
    path = _regular_file(path)
    check_whole("max_bytes", max_bytes, 1)
    _check_format(formats, format)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # overflow gets an error of its own
            return formats[format or _guess(formats, path, max_bytes)].read(path, max_bytes)
    except ProblemFileError:
        raise
    except ProblemError as error:
        raise ProblemFileError(path, None, str(error)) from error


def _regular_file(path: str | os.PathLike[str]) -> Path:
    try:
        path = Path(path)
        if path.is_file():
            return path
        exists = path.exists()
    except (TypeError, OSError, ValueError) as error:  # not a path, or an impossible file name
        raise OptionError(f"path must be the path of a file; got {shortened(path)}") from error
    reason = "not a regular file" if exists else "there is no such file"
    raise ProblemFileError(path, None, reason)


def _check_format(formats: Mapping[str, Format[ReadT]], format: str | None) -> None:
    if format is None or (isinstance(format, str) and format in formats):
        return
    hint = did_you_mean(format, formats)
    raise OptionError(
        f"no format is called {shortened(format)}; {hint}The formats are:\n{_list(formats)}"
    )


def _guess(formats: Mapping[str, Format[ReadT]], path: Path, max_bytes: int) -> str:
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except OSError as error:
        raise ProblemFileError(path, None, f"it cannot be read: {error.strerror}") from error
    if start == b"PK\x03\x04" and "npz" in formats:
        return "npz"
    words = next(TextFile(path, max_bytes).rows(), [])
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"][-1:]
    for name, format in formats.items():
        if format.first_words and tuple(words[: len(format.first_words)]) == format.first_words:
            return name
    for name, format in formats.items():
        if suffixes and suffixes[0] in format.suffixes:
            return name
    raise ProblemFileError(
        path,
        None,
        "neither its start nor its name identifies the format; pass format=, one of:\n"
        f"{_list(formats)}",
    )


def _list(formats: Mapping[str, Format[ReadT]]) -> str:
    return "\n".join(f"  {name}: {format.about}" for name, format in formats.items())
