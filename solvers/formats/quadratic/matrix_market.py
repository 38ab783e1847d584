"""Read sparse and dense matrices in the MatrixMarket format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ...conversions.conversion import Conversion, converted
from ...conversions.graph.cuts import from_max_cut
from ..parsing.entries import EDGE_BYTES, ENTRY_BYTES, Entries, read_entries
from ..parsing.text import TextFile, shown

LAYOUTS = (b"coordinate", b"array")
"""Layouts of the entries."""

FIELDS = (b"integer", b"real", b"double", b"pattern")
"""Kinds of entries that can be read."""

SYMMETRIES = (b"general", b"symmetric")
"""Kinds of matrices that can be read."""

NUMBER_BYTES = 2
"""Least number of bytes of an entry of a dense matrix, "1" and its end."""


@dataclass(frozen=True)
class _Kind:
    """The first line of a file."""

    dense: bool
    pattern: bool
    symmetric: bool


def read_matrix_market(text: TextFile) -> Conversion:
    """Read a problem that minimises x'Qx, where Q is the matrix.

    Raises:
        ProblemFileError: the file has another form, or its matrix is not square or has no numbers.
    """
    kind, entries = _read(text)
    if kind.pattern:
        raise text.error(
            "the matrix is a pattern without numbers; format='mtxcut' reads it as the edges of a "
            "graph for the maximum cut"
        )
    weights = entries.weights
    if kind.symmetric:
        # An entry off the diagonal stands for two terms of x'Qx.
        weights[entries.off_diagonal] *= 2
    linear = np.zeros(entries.n)
    return converted("minimise", entries.names, linear, entries.pairs, weights, 0.0)


def read_matrix_market_cut(text: TextFile) -> Conversion:
    """Read a maximum cut problem, whose edges are the entries of the matrix.

    Every edge of a general matrix, which has both triangles, counts once.

    Raises:
        ProblemFileError: the file has another form, or its matrix is not square or not symmetric.
    """
    kind, entries = _read(text)
    weights = entries.weights
    if not kind.symmetric:
        _check_symmetric(text, entries)
        weights = weights / 2
    return replace(from_max_cut(entries.n, entries.pairs, weights), names=entries.names)


def _check_symmetric(text: TextFile, entries: Entries) -> None:
    """Raise if a matrix differs from its transpose."""
    first, second = entries.pairs.T
    codes = first * entries.n + second
    mirrored = second * entries.n + first
    order = np.argsort(codes)
    other = np.argsort(mirrored)
    same_places = np.array_equal(codes[order], mirrored[other])
    if not (same_places and np.array_equal(entries.weights[order], entries.weights[other])):
        raise text.error("the matrix of a graph must equal its transpose, and this one does not")


def _read(text: TextFile) -> tuple[_Kind, Entries]:
    lines = text.lines(b"%")
    kind = _kind(text, next(lines, b""))
    rows = (line.split() for line in lines)
    sizes = next(rows, [])
    expected = ["n", "n", "entries"]
    if kind.dense:
        expected = ["n", "n"]
    if len(sizes) != len(expected):
        raise text.error(
            f"expected the sizes '{' '.join(expected)}'; the line has {len(sizes)} words"
        )
    n = text.integer(sizes[0], "the number of rows", 1, 2**31)
    columns = text.integer(sizes[1], "the number of columns", 1, 2**31)
    if n != columns:
        raise text.error(f"the matrix must be square; it has {n} rows and {columns} columns")
    if kind.dense:
        return kind, _read_dense(text, rows, n, kind.symmetric)
    count = text.integer(sizes[2], "the number of entries", 0, 2**62)
    entry_bytes = ENTRY_BYTES
    if kind.pattern:
        entry_bytes = EDGE_BYTES
    text.check_claim(n, count, entry_bytes)
    entries = read_entries(text, rows, n, count, first=1, weighted=not kind.pattern)
    _check_places(text, entries, kind.symmetric)
    return kind, entries


def _kind(text: TextFile, line: bytes) -> _Kind:
    words = line.lower().split()
    if len(words) != 5 or words[:2] != [b"%%matrixmarket", b"matrix"]:
        raise text.error(
            "expected the first line '%%MatrixMarket matrix coordinate real symmetric', or with "
            "other words for the layout, the numbers and the symmetry"
        )
    for word, choices in zip(words[2:], (LAYOUTS, FIELDS, SYMMETRIES), strict=True):
        if word not in choices:
            listed = ", ".join(choice.decode() for choice in choices)
            raise text.error(f"{shown(word)} cannot be read; it must be one of {listed}")
    return _Kind(words[2] == b"array", words[3] == b"pattern", words[4] == b"symmetric")


def _read_dense(text: TextFile, rows: Iterator[list[bytes]], n: int, symmetric: bool) -> Entries:
    """Read all numbers of a matrix, or of its lower triangle, column by column."""
    if symmetric:
        count = n * (n + 1) // 2
    else:
        count = n * n
    text.check_claim(n, count, NUMBER_BYTES)
    numbers = [text.number(word, "an entry") for row in rows for word in row]
    if len(numbers) != count:
        raise text.error(f"the matrix has {count} entries, and the file has {len(numbers)}")
    if symmetric:
        columns, lines = np.triu_indices(n)
    else:
        columns, lines = np.divmod(np.arange(n * n), n)
    values = np.array(numbers)
    used = values != 0
    pairs = np.stack([lines, columns], axis=-1)[used]
    return Entries(text, n, 1, pairs, values[used], np.zeros(len(pairs), np.int64))


def _check_places(text: TextFile, entries: Entries, symmetric: bool) -> None:
    """Raise if an entry occurs twice, or a symmetric matrix has entries in both triangles."""
    if symmetric:
        entries.check_repeats()
        return
    codes = np.sort(entries.pairs[:, 0] * entries.n + entries.pairs[:, 1])
    if (np.diff(codes) == 0).any():
        raise text.error("an entry comes twice")
