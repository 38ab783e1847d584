"""Read files of QPLIB, the library of quadratic programs, with binary variables only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from ...conversions.conversion import Conversion, converted
from ...conversions.sense import Sense
from ..parsing.entries import ENTRY_BYTES, read_entries
from ..parsing.text import TextFile, shown

SENSES: dict[bytes, Sense] = {b"minimize": "minimise", b"maximize": "maximise"}
"""Our name for each sense of the format."""


def read_qplib(text: TextFile) -> Conversion:
    """Read an unconstrained problem that minimises or maximises a quadratic objective.

    The objective is (1/2) sum Q_ij x_i x_j over the listed entries + sum b_i x_i + q.

    An entry stands for one term. So a pair scores half of the listed number, as a diagonal entry
    does; this is the objective in which QPLIB states its best known values.

    Raises:
        ProblemFileError: the file has another form, other variables, or constraints.

    References:
        Furini and others (2019), QPLIB: a library of quadratic programming instances.
    """
    rows = text.data_rows()
    next(rows, None)  # the name
    kind = _word(text, rows, "the type").upper()
    if len(kind) != 3 or kind[:1] not in (b"L", b"D", b"C", b"Q"):
        raise text.error(f"the type must be three letters such as QBB; it is {shown(kind)}")
    if kind[1:2] != b"B" or kind[2:] not in (b"B", b"N"):
        raise text.error(
            f"the type is {shown(kind)}: only unconstrained binary problems (QBB, QBN) can be read"
        )
    sense = SENSES.get(word := _word(text, rows, "the sense").lower())
    if sense is None:
        raise text.error(f"the sense must be minimize or maximize; it is {shown(word)}")
    n = text.integer(_word(text, rows, "n"), "n", 1, 2**62)
    if kind[:1] == b"L":
        count = 0
    else:
        count = _count(text, rows, "the number of quadratic terms", 2**62)
    text.check_claim(n, count, ENTRY_BYTES)
    entries = read_entries(text, (row[:3] for row in islice(rows, count)), n, count, first=1)
    entries.check_repeats()
    default = _word(text, rows, "the default of linear terms")
    linear = np.full(n, text.number(default, "the default of linear terms"))
    for row in islice(rows, _count(text, rows, "the number of linear terms", n)):
        if len(row) < 2:
            raise text.error(f"expected 'i value'; the line has {len(row)} word")
        variable = text.integer(row[0], "a variable", 1, n) - 1
        linear[variable] = text.number(row[1], "the linear term")
    constant = text.number(_word(text, rows, "the constant"), "the constant")
    return converted(sense, entries.names, linear, entries.pairs, entries.weights / 2, constant)


def _word(text: TextFile, rows: Iterator[list[bytes]], what: str) -> bytes:
    row = next(rows, [])
    if not row:
        raise text.error(f"the file ends before {what}")
    return row[0]


def _count(text: TextFile, rows: Iterator[list[bytes]], what: str, most: int) -> int:
    return text.integer(_word(text, rows, what), what, 0, most)
