"""Read Biq Mac and OR-Library files: a header "n m", then entries of a symmetric matrix."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ...conversions.conversion import Conversion, converted
from ...conversions.sense import Sense
from ..parsing.entries import ENTRY_BYTES, read_entries, read_sizes
from ..parsing.text import TextFile

PROBLEM_BYTES = 4
"""Least number of bytes of a problem, "1 0" and its end."""


def read_biq_mac(text: TextFile) -> Conversion:
    """Read a problem that minimises x'Qx, as in the Biq Mac Library.

    The entries are one triangle of Q, or both. Variables are numbered from 1; from 0 if there is a
    variable 0.

    Raises:
        ProblemFileError: the file has another form.
    """
    rows = text.rows()
    n, count = read_sizes(text, next(rows, None))
    return _problem(text, rows, n, count, "minimise")


def read_or_library(text: TextFile) -> Conversion:
    """Read a problem that maximises x'Qx, as in the OR-Library, in the same layout.

    Raises:
        ProblemFileError: the file has another form, or several problems.
    """
    problems = read_or_library_problems(text)
    if len(problems) > 1:
        raise text.error(
            f"the file has {len(problems)} problems; solvers.formats.read_problems reads them all"
        )
    return problems[0]


def read_or_library_problems(text: TextFile) -> tuple[Conversion, ...]:
    """Read the problems of an OR-Library file, which may begin with their number.

    Raises:
        ProblemFileError: the file has another form.
    """
    rows = text.rows()
    header = next(rows, None)
    if header is None or len(header) != 1:
        n, count = read_sizes(text, header)
        return (_problem(text, rows, n, count, "maximise"),)
    problems = text.integer(header[0], "the number of problems", 1, 2**62)
    text.check_claim(0, problems, PROBLEM_BYTES)
    return tuple(_problems(text, rows, problems))


def _problems(text: TextFile, rows: Iterator[list[bytes]], problems: int) -> Iterator[Conversion]:
    variables = 0
    for number in range(1, problems + 1):
        row = next(rows, None)
        if row is None:
            raise text.error(
                f"the header claims {problems} problems, but the file ends before problem {number}"
            )
        n, count = read_sizes(text, row)
        variables += n
        text.check_claim(variables, count, ENTRY_BYTES)
        yield _problem(text, islice(rows, count), n, count, "maximise")
    if next(rows, None) is not None:
        raise text.error(f"the header claims {problems} problems, but there are more lines")


def _problem(
    text: TextFile, rows: Iterator[list[bytes]], n: int, count: int, sense: Sense
) -> Conversion:
    entries = read_entries(text, rows, n, count, first=None)
    weights = entries.weights
    if not entries.has_both_triangles():
        # An entry off the diagonal stands for two terms of x'Qx.
        weights[entries.off_diagonal] *= 2
    return converted(sense, entries.names, np.zeros(n), entries.pairs, weights, 0.0)
