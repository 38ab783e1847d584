"""Read lines "i j weight", which several formats share."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ...conversions.terms import Pairs, Weights
from ..errors import ProblemFileError
from .text import TextFile

ENTRY_BYTES = 6
"""Least number of bytes of a line, "1 2 3" and its end."""

EDGE_BYTES = 4
"""Least number of bytes of a line without a weight, "1 2" and its end."""


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a file.

    Attributes:
        text: the file.
        n: number of variables.
        first: the number of the first variable, 0 or 1.
        pairs: `[e, 2]`, from 0 to n - 1.
        weights: `[e]`.
        lines: `[e]`, the line of each entry.
    """

    text: TextFile
    n: int
    first: int
    pairs: Pairs
    weights: Weights
    lines: np.ndarray

    @property
    def names(self) -> range:
        """The numbers of the variables in the file."""
        return range(self.first, self.n + self.first)

    @property
    def off_diagonal(self) -> np.ndarray:
        """`[e]`, whether an entry has two variables."""
        different: np.ndarray = self.pairs[:, 0] != self.pairs[:, 1]
        return different

    def check_repeats(self, reason: str = "; keep one of the two") -> None:
        """Raise if two entries have the same variables.

        Args:
            reason: the end of the message.

        Raises:
            ProblemFileError: a pair occurs twice.
        """
        codes = self._codes()
        order = np.argsort(codes, kind="stable")
        repeats = np.flatnonzero(np.diff(codes[order]) == 0)
        if not len(repeats):
            return
        before = order[repeats[0]]
        again = order[repeats[0] + 1]
        pair = tuple((self.pairs[again] + self.first).tolist())
        raise ProblemFileError(
            self.text.path,
            int(self.lines[again]),
            f"the pair {pair} is already in line {self.lines[before]}{reason}",
        )

    def has_both_triangles(self) -> bool:
        """Return whether every pair occurs as (i, j) and as (j, i).

        Raises:
            ProblemFileError: a pair occurs twice, and not every pair occurs in both orders.
        """
        codes = self._codes()
        upper = np.sort(codes[self.pairs[:, 0] <= self.pairs[:, 1]])
        lower = np.sort(codes[self.pairs[:, 0] >= self.pairs[:, 1]])
        if np.array_equal(upper, lower) and (np.diff(upper) > 0).all():
            return True
        self.check_repeats(
            ", and not every pair comes in both orders; list every pair once, or both triangles "
            "of the matrix"
        )
        return False

    def _codes(self) -> np.ndarray:
        """Return a number `[e]` for the variables of each entry, the same in either order."""
        low, high = np.sort(self.pairs, axis=1).T
        codes: np.ndarray = low * self.n + high
        return codes


def read_entries(
    text: TextFile,
    rows: Iterable[list[bytes]],
    n: int,
    count: int,
    first: int | None,
    weighted: bool = True,
) -> Entries:
    """Read pairs of variables and their weights from the remaining rows.

    Args:
        text: the file that the rows come from.
        rows: the rows after the header.
        n: number of variables.
        count: number of entries that the header claims.
        first: the number of the first variable, 0 or 1; None if a variable 0 decides.
        weighted: whether the rows must have weights. Otherwise all or none have weights, and a
            missing weight is 1.

    Raises:
        ProblemFileError: a row has another form, or the count differs.
    """
    numbers = _Numbers(text, n, first)
    weights = array("d")
    lines = array("q")
    width = 0
    if weighted:
        width = 3
    for row in rows:
        width = width or len(row)
        if len(row) != width or width not in (2, 3):
            expected = "'i j' or 'i j weight'"
            if width == 3:
                expected = "'i j weight'"
            raise text.error(f"expected {expected}; the line has {len(row)} words")
        # Raise at the first excess row, so that a wrong header does not fill the memory.
        if len(lines) == count:
            raise text.error(f"the header claims {count} entries, but there are more")
        numbers.add(row[0])
        numbers.add(row[1])
        weight = 1.0
        if len(row) == 3:
            weight = text.number(row[2], "the weight")
        weights.append(weight)
        lines.append(text.line)
    if len(lines) != count:
        raise text.error(f"the header claims {count} entries, but the file ends after {len(lines)}")
    pairs = np.asarray(numbers.read, np.int64).reshape(-1, 2) - numbers.first
    values = np.asarray(weights, np.float64)
    return Entries(text, n, numbers.first, pairs, values, np.asarray(lines, np.int64))


class _Numbers:
    """Numbers of variables, which begin at 0 or 1.

    Attributes:
        read: the numbers as the file has them.
    """

    def __init__(self, text: TextFile, n: int, first: int | None):
        self.read: array[int] = array("q")
        self._text = text
        self._n = n
        self._first = first
        self._low = first or 0
        self._high = n
        if first is not None:
            self._high = n - 1 + first
        self._lines: dict[int, int] = {}

    @property
    def first(self) -> int:
        """The number of the first variable."""
        if self._first is not None:
            return self._first
        if 0 in self._lines:
            return 0
        return 1

    def add(self, word: bytes) -> None:
        """Add the number of a variable.

        Raises:
            ProblemFileError: there is no such variable.
        """
        number = self._text.integer(word, "a variable", self._low, self._high)
        self.read.append(number)
        if self._first is None and number in (0, self._n):
            self._lines.setdefault(number, self._text.line)
            self._check_numbering(number)

    def _check_numbering(self, number: int) -> None:
        """Raise if one file has variables 0 and n."""
        other = self._n - number
        if other in self._lines:
            raise self._text.error(
                f"a variable is {number}, and line {self._lines[other]} has the variable {other}; "
                f"number the {self._n} variables from 0 to {self._n - 1}, or from 1 to {self._n}"
            )


def read_sizes(
    text: TextFile, row: list[bytes] | None, entry_bytes: int = ENTRY_BYTES
) -> tuple[int, int]:
    """Read the header "n m": the numbers of variables and entries.

    A word after the two numbers is ignored, and a third number raises.

    Args:
        text: the file.
        row: the words of the header; None at the end of the file.
        entry_bytes: least number of bytes of an entry.

    Raises:
        ProblemFileError: the header has another form, or sizes that the file cannot have.
    """
    if row is None:
        raise text.error("the file is empty; expected a header 'n m'")
    if len(row) not in (2, 3) or (len(row) == 3 and not row[2].isalpha()):
        raise text.error(f"expected the header 'n m'; the line has {len(row)} words")
    n = text.integer(row[0], "n", 1, 2**62)
    count = text.integer(row[1], "m", 0, 2**62)
    text.check_claim(n, count, entry_bytes)
    return n, count
