"""Read lines "i j weight", which several formats share."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

import numpy as np

from ..conversions.terms import Pairs, Weights
from .errors import ProblemFileError
from .text import TextFile

ENTRY_BYTES = 6
"""Least number of bytes of a line, "1 2 3" and its end."""


def read_entries(
    text: TextFile, rows: Iterable[list[bytes]], n: int, count: int, first: int
) -> tuple[Pairs, Weights]:
    """Read pairs `[count, 2]` of 0..n-1 and weights `[count]` from the remaining rows.

    Args:
        text: the file that the rows come from.
        rows: the rows after the header.
        n: number of variables.
        count: number of entries that the header claims.
        first: the number of the first variable, 0 or 1.

    Raises:
        ProblemFileError: a row has another form, the count differs, or a pair comes twice.
    """
    pairs = array("q")
    weights = array("d")
    lines = array("q")
    for row in rows:
        if len(row) != 3:
            raise text.error(f"expected 'i j weight'; the line has {len(row)} words")
        if len(lines) == count:
            raise text.error(f"the header claims {count} entries, but there are more")
        last = n - 1 + first
        pairs.extend(text.integer(word, "a variable", first, last) - first for word in row[:2])
        weights.append(text.number(row[2], "the weight"))
        lines.append(text.line)
    if len(lines) != count:
        raise text.error(f"the header claims {count} entries, but the file ends after {len(lines)}")
    ends = np.asarray(pairs, np.int64).reshape(-1, 2)
    _check_repeats(text, ends, np.asarray(lines, np.int64), n, first)
    return ends, np.asarray(weights, np.float64)


def read_sizes(text: TextFile, row: list[bytes] | None) -> tuple[int, int]:
    """Read the header "n m": the numbers of variables and entries.

    A word after them is ignored, a number is not.

    Raises:
        ProblemFileError: the header has another form, or sizes that the file cannot have.
    """
    if row is None:
        raise text.error("the file is empty; expected a header 'n m'")
    if len(row) not in (2, 3) or (len(row) == 3 and not row[2].isalpha()):
        raise text.error(f"expected the header 'n m'; the line has {len(row)} words")
    n = text.integer(row[0], "n", 1, 2**62)
    count = text.integer(row[1], "m", 0, 2**62)
    text.check_claim(n, count, ENTRY_BYTES)
    return n, count


def _check_repeats(text: TextFile, pairs: Pairs, lines: np.ndarray, n: int, first: int) -> None:
    low, high = np.sort(pairs, axis=1).T
    codes = low * n + high
    order = np.argsort(codes, kind="stable")
    repeats = np.flatnonzero(np.diff(codes[order]) == 0)
    if not len(repeats):
        return
    before = order[repeats[0]]
    again = order[repeats[0] + 1]
    pair = tuple((pairs[again] + first).tolist())
    raise ProblemFileError(
        text.path,
        int(lines[again]),
        f"the pair {pair} is already in line {lines[before]}; keep one of the two",
    )
