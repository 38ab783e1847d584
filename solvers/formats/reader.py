"""Read problem files in a named format, or in a format that is recognised."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np

from ..conversions.conversion import Conversion
from ..errors import OptionError, ProblemError, did_you_mean, shortened
from ..options import check_whole
from .errors import ProblemFileError
from .graphs.dimacs import read_dimacs
from .graphs.edges import read_edges
from .graphs.gml import read_gml
from .graphs.max_cut import read_max_cut
from .parsing.text import TextFile
from .programs.linear_program import read_lp, read_mps
from .programs.qaplib import read_qaplib
from .programs.tsplib import read_tsplib
from .programs.wcnf import read_wcnf
from .quadratic.biq_mac import read_biq_mac, read_or_library, read_or_library_problems
from .quadratic.bqpjson import read_bqpjson
from .quadratic.coo import read_coo
from .quadratic.csv import header_starts, read_csv
from .quadratic.dimod_files import read_dimod
from .quadratic.matrix_market import read_matrix_market, read_matrix_market_cut
from .quadratic.npz import read_npz
from .quadratic.qbsolv import read_qbsolv
from .quadratic.qplib import read_qplib
from .quadratic.uai import read_uai

MAX_BYTES = 2**28
"""Largest size of a text, after decompression, unless the caller says otherwise."""

MOST_WORDS = 6
"""Largest number of words that identify a format."""

MAGIC_BYTES = 8
"""Largest number of bytes that identify a format."""

ReadT = TypeVar("ReadT")


@dataclass(frozen=True)
class Format(Generic[ReadT]):
    """A file format for problems.

    Attributes:
        about: the contents of the file, and the meaning of the conversion's `value`.
        read: reads a path within a limit on bytes.
        first_words: alternatives for the first words of the text, in lower case; empty if they do
            not identify the format.
        suffixes: suffixes that identify the format if the text does not.
        magic: the first bytes of the file; empty if they do not identify the format.
        read_all: reads all problems of a file that may have several.
    """

    about: str
    read: Callable[[Path, int], ReadT]
    first_words: tuple[bytes, ...] = ()
    suffixes: tuple[str, ...] = ()
    magic: tuple[bytes, ...] = ()
    read_all: Callable[[Path, int], tuple[ReadT, ...]] | None = None

    def problems(self, path: Path, max_bytes: int) -> tuple[ReadT, ...]:
        """Return all problems of a file."""
        if self.read_all is not None:
            return self.read_all(path, max_bytes)
        return (self.read(path, max_bytes),)

    def begins(self, words: Sequence[bytes]) -> bool:
        """Return whether the words of a text identify the format."""
        start = b" ".join(words[:MOST_WORDS]).lower() + b" "
        return any(start.startswith(first + b" ") for first in self.first_words)


def lines(read: Callable[[TextFile], ReadT], path: Path, max_bytes: int) -> ReadT:
    """Read the text file at a path by `read`."""
    return read(TextFile(path, max_bytes))


FORMATS: Mapping[str, Format[Conversion]] = {
    "npz": Format(
        "numpy arrays unary, pairwise, edges; the score", read_npz, magic=(b"PK\x03\x04",)
    ),
    "qubo": Format(
        "Biq Mac: 'n m', then 'i j q' of one triangle or both; x'Qx minimised",
        partial(lines, read_biq_mac),
        suffixes=(".sparse", ".qubo"),
    ),
    "orlib": Format(
        "OR-Library: the layout of qubo, one problem or several; x'Qx maximised",
        partial(lines, read_or_library),
        suffixes=(".orlib",),
        read_all=partial(lines, read_or_library_problems),
    ),
    "qbsolv": Format(
        "'p qubo 0 n nodes couplers'; sum of q x and q x x minimised",
        partial(lines, read_qbsolv),
        (b"p qubo",),
    ),
    "maxcut": Format(
        "rudy, G-set: 'n m', then 'i j w' or 'i j'; weight of the cut maximised",
        partial(lines, read_max_cut),
        suffixes=(".rud", ".rudy", ".mc", ".maxcut"),
    ),
    "edges": Format(
        "edges 'u v w' or 'u v' without a header; weight of the cut maximised",
        partial(lines, read_edges),
        suffixes=(".el", ".wel", ".edges", ".edgelist"),
    ),
    "qplib": Format(
        "QPLIB: type QBB or QBN; half of the listed quadratic terms, minimised or maximised",
        partial(lines, read_qplib),
        suffixes=(".qplib",),
    ),
    "coo": Format(
        "dimod's COO: '# vartype=SPIN' or BINARY, then 'i j bias'; the energy minimised",
        partial(lines, read_coo),
        suffixes=(".coo",),
    ),
    "bqpjson": Format(
        "bqpjson of spins or booleans; scale * (offset + terms) minimised",
        partial(lines, read_bqpjson),
        suffixes=(".json", ".bqpjson"),
    ),
    "dimod": Format(
        "dimod's .bqm and .cqm, with linear constraints; the energy minimised",
        partial(lines, read_dimod),
        magic=(b"DIMODBQM", b"DIMODCQM"),
    ),
    "mtx": Format(
        "MatrixMarket: a square matrix Q; x'Qx minimised",
        partial(lines, read_matrix_market),
        (b"%%matrixmarket",),
        (".mtx",),
    ),
    "mtxcut": Format(
        "MatrixMarket: the weights of a graph; weight of the cut maximised",
        partial(lines, read_matrix_market_cut),
    ),
    "gml": Format(
        "GML: scores unary and pairwise maximised, or the weight of the cut where there are none",
        partial(lines, read_gml),
        suffixes=(".gml",),
    ),
    "lp": Format(
        "LP of binaries: a quadratic objective, linear constraints; minimised or maximised",
        partial(lines, read_lp),
        suffixes=(".lp",),
    ),
    "mps": Format(
        "MPS of binaries: as lp", partial(lines, read_mps), suffixes=(".mps", ".qps", ".mqp")
    ),
    "wcnf": Format(
        "WCNF of both formats, and CNF; weight of the soft clauses not satisfied, minimised",
        partial(lines, read_wcnf),
        (b"p wcnf", b"p cnf"),
        suffixes=(".wcnf", ".cnf"),
    ),
    "qaplib": Format(
        "QAPLIB: n and two matrices; cost of the assignment minimised",
        partial(lines, read_qaplib),
        suffixes=(".dat",),
    ),
    "tsplib": Format(
        "TSPLIB: TYPE TSP or ATSP; length of the tour minimised",
        partial(lines, read_tsplib),
        suffixes=(".tsp", ".atsp"),
    ),
    "csv": Format(
        "a table with the columns i, j and score, a variable's own where j is empty; the score",
        partial(lines, read_csv),
        header_starts(),
        suffixes=(".csv", ".tsv"),
    ),
    "uai": Format(
        "MARKOV or BAYES; sum of log factors maximised",
        partial(lines, read_uai),
        (b"markov", b"bayes"),
    ),
    "dimacs": Format(
        "'p max'; minimum cut, the maximum flow", partial(lines, read_dimacs), (b"p max",)
    ),
}
"""Every format, by name."""


def read_problem(
    path: str | os.PathLike[str], format: str | None = None, *, max_bytes: int = MAX_BYTES
) -> Conversion:
    r"""Read a problem from a file, plain or gzip, with the names and the objective of the file.

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
    return read_one(FORMATS, path, format, max_bytes)


def read_problems(
    path: str | os.PathLike[str], format: str | None = None, *, max_bytes: int = MAX_BYTES
) -> tuple[Conversion, ...]:
    r"""Read all problems of a file: one, or several of an OR-Library file.

    Args:
        path: a regular file.
        format: a name of `FORMATS`; None to take it from the first words, or else from the suffix.
        max_bytes: as for `read_problem`.

    Raises:
        ProblemFileError: as `read_problem`.
        OptionError: as `read_problem`.
        OSError: the file cannot be read.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "two.txt")
        ...     _ = path.write_text("2\n2 1\n1 2 3\n1 1\n1 1 5\n")
        ...     [problem.problem.n for problem in read_problems(path, "orlib")]
        [2, 1]
    """
    return read_by(FORMATS, path, format, max_bytes)


def read_one(
    formats: Mapping[str, Format[ReadT]],
    path: str | os.PathLike[str],
    format: str | None,
    max_bytes: int,
) -> ReadT:
    """Read the one problem of a file; arguments and errors are those of `read_problem`."""
    (problem,) = _read(formats, path, format, max_bytes, lambda kind, *file: (kind.read(*file),))
    return problem


def read_by(
    formats: Mapping[str, Format[ReadT]],
    path: str | os.PathLike[str],
    format: str | None,
    max_bytes: int,
) -> tuple[ReadT, ...]:
    """Read all problems of a file; arguments and errors are those of `read_problem`."""
    return _read(formats, path, format, max_bytes, Format.problems)


def _read(
    formats: Mapping[str, Format[ReadT]],
    path: str | os.PathLike[str],
    format: str | None,
    max_bytes: int,
    read: Callable[[Format[ReadT], Path, int], tuple[ReadT, ...]],
) -> tuple[ReadT, ...]:
    path = _regular_file(path)
    check_whole("max_bytes", max_bytes, 1)
    _check_format(formats, format)
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # overflow is reported later
            kind = formats[format or _guess(formats, path, max_bytes)]
            return read(kind, path, max_bytes)
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
    reason = "there is no such file"
    if exists:
        reason = "not a regular file"
    raise ProblemFileError(path, None, reason)


def _check_format(formats: Mapping[str, Format[ReadT]], format: str | None) -> None:
    if format is None or (isinstance(format, str) and format in formats):
        return
    hint = did_you_mean(format, formats)
    raise OptionError(
        f"no format is called {shortened(format)}; {hint}The formats are:\n{_list(formats)}"
    )


def _named_by_suffix(formats: Mapping[str, Format[ReadT]], path: Path) -> list[str]:
    """Return the formats that have the suffix of a file's name."""
    suffixes = [suffix for suffix in path.suffixes if suffix != ".gz"][-1:]
    return [name for name, format in formats.items() if {*suffixes} & {*format.suffixes}]


def _guess(formats: Mapping[str, Format[ReadT]], path: Path, max_bytes: int) -> str:
    start = _start(path)
    for name, format in formats.items():
        if format.magic and start.startswith(format.magic):
            return name
    named = _named_by_suffix(formats, path)
    try:
        words = next(TextFile(path, max_bytes).rows(), [])
    except ProblemFileError:
        if named:  # it may have long lines
            return named[0]
        raise
    for name, format in formats.items():
        if format.begins(words):
            return name
    if named:
        return named[0]
    raise ProblemFileError(
        path,
        None,
        "neither its start nor its name identifies the format; pass format=, one of:\n"
        f"{_list(formats)}",
    )


def _start(path: Path) -> bytes:
    """Return the first bytes of a file."""
    try:
        with path.open("rb") as stream:
            return stream.read(MAGIC_BYTES)
    except OSError as error:
        raise ProblemFileError(path, None, f"it cannot be read: {error.strerror}") from error


def _list(formats: Mapping[str, Format[ReadT]]) -> str:
    return "\n".join(f"  {name}: {format.about}" for name, format in formats.items())
