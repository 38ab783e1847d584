"""Write problems over bits to files, by the name of a format or by the name of the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from ...conversions.conversion import Conversion
from ...errors import OptionError, ProblemError, did_you_mean, shortened
from ..reader import FORMATS, Format
from .write_terms import (
    biq_mac_text,
    bqpjson_text,
    coo_text,
    csv_text,
    lp_text,
    matrix_market_text,
    max_cut_text,
    qbsolv_text,
    qplib_text,
)
from .written import Relation, Terms, terms_of

MAXIMISED = 1
MINIMISED = -1

WriterT = TypeVar("WriterT")


@dataclass(frozen=True)
class Writer:
    """Writer of a format, with the properties of its files.

    Attributes:
        write: writes the file at a path.
        sense: 1 if the format maximises, -1 if it minimises, 0 if the file states it.
        constant: whether the file has a constant.
        constraints: whether the file has constraints.
        empty: whether the file can have no variables.
    """

    write: Callable[[Path, Terms], None]
    sense: int
    constant: bool = False
    constraints: bool = False
    empty: bool = False


def write_lines(path: str | os.PathLike[str], lines: Iterator[str]) -> None:
    """Write lines as UTF-8.

    Raises:
        OSError: the file cannot be written.
    """
    with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)


def _write_arrays(path: Path, terms: Terms) -> None:
    with path.open("wb") as stream:
        np.savez(stream, unary=terms.linear, pairwise=terms.weights, edges=terms.pairs)


def _in_lines(text: Callable[[Terms], Iterator[str]]) -> Callable[[Path, Terms], None]:
    """Return a function that writes the lines of a text."""

    def write(path: Path, terms: Terms) -> None:
        write_lines(path, text(terms))

    return write


WRITERS: Mapping[str, Writer] = {
    "npz": Writer(_write_arrays, MAXIMISED, empty=True),
    "qubo": Writer(_in_lines(biq_mac_text), MINIMISED),
    "orlib": Writer(_in_lines(biq_mac_text), MAXIMISED),
    "qbsolv": Writer(_in_lines(qbsolv_text), MINIMISED),
    "maxcut": Writer(_in_lines(max_cut_text), MAXIMISED),
    "qplib": Writer(_in_lines(qplib_text), 0, constant=True),
    "coo": Writer(_in_lines(coo_text), MINIMISED, empty=True),
    "bqpjson": Writer(_in_lines(bqpjson_text), MINIMISED, constant=True),
    "mtx": Writer(_in_lines(matrix_market_text), MINIMISED),
    "csv": Writer(_in_lines(csv_text), MAXIMISED),
    "lp": Writer(_in_lines(lp_text), 0, constant=True, constraints=True),
}
"""Every format that can be written, by its name in `FORMATS`."""

WRITABLE = tuple(WRITERS)
"""The names of all formats that can be written."""


def write_problem(
    conversion: Conversion, path: str | os.PathLike[str], format: str | None = None
) -> Relation:
    """Write a problem to a file, and return how its objective and that of the file are related.

    Args:
        conversion: the result of `read_problem` or of a function of `solvers.conversions`.
        path: the file, which is replaced if it exists.
        format: a name of `FORMATS`; None to take it from the suffix.

    Raises:
        OptionError: no format of that name or suffix can be written, or a list of coefficients of a
            constraint has another length than the number of variables.
        ProblemError: the format cannot hold the problem.
        OSError: the file cannot be written.

    Example:
        >>> import pathlib, tempfile
        >>> from solvers.conversions import from_max_cut
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "triangle.qubo")
        ...     relation = write_problem(from_max_cut(3, [[0, 1], [1, 2], [0, 2]]), path)
        ...     path.read_text().splitlines()[:2], str(relation)
        (['3 6', '1 1 -2'], 'the negative of the objective')
    """
    name = format_of(path, format)
    terms = terms_of(conversion)
    writer = WRITERS[name]
    if terms.constraints and not writer.constraints:
        raise ProblemError(
            f"the problem has {len(terms.constraints)} constraints, which a file of the format "
            f"'{name}' cannot have; write it as 'lp'"
        )
    if not terms.n and not writer.empty:
        raise ProblemError(
            f"the problem has no variables, and a file of the format '{name}' has some; write it "
            "as 'npz'"
        )
    written = terms.with_sense(writer.sense or terms.sense)
    left_out = 0.0
    if not writer.constant:
        left_out = terms.constant
    relation = Relation(written.sense * terms.sense, left_out)
    writer.write(Path(path), replace(written, constant=written.constant + 0.0))
    return relation


def format_of(path: str | os.PathLike[str], format: str | None = None) -> str:
    """Return the name of the format in which `write_problem` writes a file.

    Args:
        path: the file.
        format: a name of `WRITABLE`; None to take it from the suffix.

    Raises:
        OptionError: no format of that name or suffix can be written.

    Example:
        >>> format_of("triangle.rudy")
        'maxcut'
    """
    return format_to_write(FORMATS, WRITABLE, path, format)


def format_to_write(
    formats: Mapping[str, Format[WriterT]],
    writable: tuple[str, ...],
    path: str | os.PathLike[str],
    format: str | None,
) -> str:
    """Return the name of the format that a file gets.

    Raises:
        OptionError: no format of that name or suffix can be written.
    """
    if format is not None:
        if format in writable:
            return format
        raise OptionError(
            f"no format that can be written is called {shortened(format)}; "
            f"{did_you_mean(format, writable)}they are {', '.join(writable)}"
        )
    suffix = Path(path).suffix
    for name in writable:
        if suffix and suffix in (f".{name}", *formats[name].suffixes):
            return name
    raise OptionError(
        f"the name {Path(path).name!r} does not say which format to write; name one of "
        f"{', '.join(writable)}"
    )
