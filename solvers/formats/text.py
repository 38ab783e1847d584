"""Text that is not trusted: read line by line, plain or gzip, within a bound on its size."""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from .errors import ProblemFileError

MAX_LINE = 2**20
DEFLATE_RATIO = 1032  # no deflate stream grows by more
VARIABLE_BYTES = 64  # what a variable takes on its way into a problem
GZIP_MAGIC = b"\x1f\x8b"
INTEGER = re.compile(rb"[+-]?[0-9]{1,18}")
NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
UTF_8_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
# more lines that say nothing than others; a small gzip file can hold a hundred million
MOST_SILENT = 100_000


class TextFile:
    """The words of a text file, line by line.

    Attributes:
        path: the file, plain or gzip.
        max_bytes: the largest text, after decompression, and the largest array that a header can
            ask for.
        line: the line of the last words that were read, from 1.
    """

    def __init__(self, path: Path, max_bytes: int):
        self.path = path
        self.max_bytes = max_bytes
        self.line = 0
        with path.open("rb") as stream:
            self._compressed = stream.read(2) == GZIP_MAGIC
        size = path.stat().st_size
        if not self._compressed and size > max_bytes:
            raise self.error(
                f"the file has {size} bytes; pass a larger max_bytes than {max_bytes} to read it"
            )
        self._capacity = min(max_bytes, (size + 1) * DEFLATE_RATIO if self._compressed else size)

    def rows(self) -> Iterator[list[bytes]]:
        """The words of each line; blank lines and comments, which start with # or c, are skipped.

        So is the byte-order mark that some editors put before UTF-8.

        Raises:
            ProblemFileError: a line or the text is too long, almost all lines are blank or
                comments, the encoding is UTF-16, or the gzip stream is damaged.
        """
        silent = 0
        for line in self._lines():
            words = line.split()
            if words and words[0] != b"c" and not words[0].startswith(b"#"):
                silent -= 1
                yield words
            else:
                silent += 1
                self._check_silence(silent)

    def _lines(self) -> Iterator[bytes]:
        left = self.max_bytes
        try:
            with self._open() as stream:
                while line := stream.readline(MAX_LINE + 1):
                    self.line += 1
                    left -= len(line)
                    self._check_length(len(line), left)
                    yield self._unmarked(line) if self.line == 1 else line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.error(f"the gzip stream is damaged: {error}") from error

    def lines(self) -> Iterator[bytes]:
        """The lines as they are, without blank ones and comments, which `rows` skips too.

        Raises:
            ProblemFileError: as `rows`.
        """
        silent = 0
        for line in self._lines():
            words = line.split(maxsplit=1)
            if words and words[0] != b"c" and not words[0].startswith(b"#"):
                silent -= 1
                yield line
            else:
                silent += 1
                self._check_silence(silent)

    def table(self) -> Iterator[list[str]]:
        """The cells of each row of a table, between commas, without quotes and blanks around them.

        Blank lines are skipped. A cell between double quotes may have commas.

        Raises:
            ProblemFileError: as `rows`; also text that is no UTF-8, or quotes that do not end.
        """
        silent = 0
        try:
            for cells in csv.reader(
                map(self.name, self._lines()), strict=True, skipinitialspace=True
            ):
                row = [cell.strip() for cell in cells]
                if len(row) > 1 or any(row):
                    silent -= 1
                    yield row
                else:
                    silent += 1
                    self._check_silence(silent)
        except csv.Error as error:
            raise self.error(f"the line is no row of a table: {error}") from error

    def words(self) -> Iterator[bytes]:
        """The words of all lines, one by one."""
        for row in self.rows():
            yield from row

    def error(self, message: str) -> ProblemFileError:
        """An error that names the file and the line that was read last."""
        return ProblemFileError(self.path, self.line or None, message)

    def name(self, word: bytes) -> str:
        """A name, or a line of names, as text.

        Raises:
            ProblemFileError: no UTF-8.
        """
        try:
            return word.decode()
        except UnicodeDecodeError as error:
            near = word[max(0, error.start - 10) : error.start + 10]
            raise self.error(
                f"the text must be UTF-8, and {shown(near)} is not; save the file as UTF-8"
            ) from error

    def integer(self, word: bytes, name: str, low: int, high: int) -> int:
        """The integer that `word` writes, called `name` in errors.

        Raises:
            ProblemFileError: no integer, or not in low..high.
        """
        if not INTEGER.fullmatch(word):
            raise self.error(f"{name} must be an integer; it is {shown(word)}")
        value = int(word)
        if not low <= value <= high:
            raise self.error(f"{name} is {value}; it must lie in {low}..{high}")
        return value

    def number(self, word: bytes, name: str) -> float:
        """The number that `word` writes, called `name` in errors.

        Raises:
            ProblemFileError: no number, or too large for float64.
        """
        value = float(word) if NUMBER.fullmatch(word) else math.nan
        if not math.isfinite(value):
            raise self.error(f"{name} must be a finite number; it is {shown(word)}")
        return value

    def check_claim(self, variables: int, entries: int, entry_bytes: int) -> None:
        """Holds a header against the size of the file, before anything is allocated.

        Args:
            variables: claimed.
            entries: claimed.
            entry_bytes: the fewest that the text of one takes.

        Raises:
            ProblemFileError: more than memory should hold, or more than the file can.
        """
        if VARIABLE_BYTES * variables > self.max_bytes:
            raise self.error(
                f"the header claims {variables} variables, which take more than max_bytes = "
                f"{self.max_bytes}; pass a larger one to read it"
            )
        if entries * entry_bytes > self._capacity + 1:  # the last line may lack its end
            raise self.error(
                f"the header claims {entries} entries of at least {entry_bytes} bytes, and the text has at "
                f"most {self._capacity}"
            )

    def _open(self) -> BinaryIO:
        return cast("BinaryIO", gzip.open(self.path)) if self._compressed else self.path.open("rb")

    def _unmarked(self, line: bytes) -> bytes:
        """The first line without a mark of its encoding."""
        if line.startswith(UTF_16_MARKS):
            raise self.error("the text is in UTF-16; save it as UTF-8 or ASCII")
        return line.removeprefix(UTF_8_MARK)

    def _check_silence(self, silent: int) -> None:
        if silent > MOST_SILENT:
            raise self.error(
                f"{MOST_SILENT} more lines are blank or comments than say anything; take them out to read the file"
            )

    def _check_length(self, length: int, left: int) -> None:
        if length > MAX_LINE:
            raise self.error(f"the line is longer than {MAX_LINE} bytes")
        if left < 0:
            raise self.error(
                f"the text is larger than max_bytes = {self.max_bytes}; pass a larger one to read it"
            )


def shown(word: bytes) -> str:
    """A word as a message can show it, whatever its bytes and its length."""
    return repr(word[:40])[1:] + ("..." if len(word) > 40 else "")
