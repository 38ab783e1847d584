"""Read untrusted text line by line, plain or gzip, within a limit on its size."""

from __future__ import annotations

import csv
import gzip
import math
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from ..errors import ProblemFileError

MAX_LINE = 2**20
"""Largest number of bytes in a line."""

BLOCK = 2**16
"""Number of bytes that are read at once if lines do not matter."""

DEFLATE_RATIO = 1032
"""Largest factor by which a deflate stream can grow."""

VARIABLE_BYTES = 64
"""Bytes that a variable takes while a problem is built."""

GZIP_MAGIC = b"\x1f\x8b"
"""The first bytes of a gzip file."""

INTEGER = re.compile(rb"[+-]?[0-9]{1,20}")
"""Pattern of an integer of at most 20 digits."""

NUMBER = re.compile(rb"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""Pattern of a decimal number."""

NO_TITLE = re.compile(rb"(?!)")
"""Pattern that matches no line."""

SEPARATORS = (",", ";", "\t", "|")
"""Separators of the cells of a table."""

UTF_8_MARK = b"\xef\xbb\xbf"
"""The byte-order mark that some editors write before UTF-8."""

UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""The byte-order marks of UTF-16."""

MOST_SILENT = 100_000
"""Largest excess of blank and comment lines over others.

A small gzip file can hold a hundred million of them."""


class TextFile:
    """Reader of a text file, which gives its words line by line.

    Attributes:
        path: the file, plain or gzip.
        max_bytes: maximum size of the text, after decompression, and of the arrays that a header
            can ask for.
        line: number of the last line that was read, from 1.
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
        largest = size
        if self._compressed:
            largest = (size + 1) * DEFLATE_RATIO
        self._capacity = min(max_bytes, largest)

    def rows(self, title: re.Pattern[bytes] = NO_TITLE) -> Iterator[list[bytes]]:
        """Yield the words of each line, without blank lines and comments, which start with # or c.

        The byte-order mark that some editors write before UTF-8 is skipped, too.

        Args:
            title: the pattern of a first line that would otherwise be a comment.

        Raises:
            ProblemFileError: a line or the text is too long, almost all lines are blank or
                comments, the encoding is UTF-16, or the gzip stream is damaged.
        """
        first = True

        def is_comment(line: bytes) -> bool:
            nonlocal first
            comment = _is_comment(line) and not (first and title.match(line))
            first = first and comment
            return comment

        return (line.split() for line in self._written(is_comment))

    def lines(self, comment: bytes) -> Iterator[bytes]:
        """Yield the first line, and each further line that is neither blank nor a comment.

        Args:
            comment: the start of a comment.

        Raises:
            ProblemFileError: see `rows`.
        """
        lines = self._written(lambda line: self.line > 1 and line.lstrip().startswith(comment))
        return (line.strip() for line in lines)

    def _written(self, is_comment: Callable[[bytes], bool]) -> Iterator[bytes]:
        """Yield the lines that are neither blank nor comments, unless there are few of them."""
        silent = 0
        for line in self._lines():
            if line.isspace() or not line or is_comment(line):
                silent += 1
                self._check_silence(silent)
            else:
                silent -= 1
                yield line

    def data_rows(self, title: re.Pattern[bytes] = NO_TITLE) -> Iterator[list[bytes]]:
        """Yield the words of each line, as `rows` does, up to a comment, which starts with #."""
        for row in self.rows(title):
            comments = (place for place, word in enumerate(row) if place and word[:1] == b"#")
            yield row[: next(comments, len(row))]

    def _lines(self) -> Iterator[bytes]:
        left = self.max_bytes
        try:
            with self._open() as stream:
                while line := stream.readline(MAX_LINE + 1):
                    self.line += 1
                    left -= len(line)
                    self._check_length(len(line), left)
                    if self.line == 1:
                        line = self._unmarked(line)
                    yield line
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.error(f"the gzip stream is damaged: {error}") from error

    def whole(self) -> str:
        """Return the whole text, whose lines may have any length.

        Raises:
            ProblemFileError: see `content`; also text that is not UTF-8.
        """
        return self.name(self._unmarked(self.content()))

    def content(self) -> bytes:
        """Return all bytes of the file, decompressed.

        Raises:
            ProblemFileError: there are more than `max_bytes`, or the gzip stream is damaged.
        """
        content = bytearray()
        try:
            with self._open() as stream:
                while block := stream.read(BLOCK):
                    content += block
                    self._check_left(self.max_bytes - len(content))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.error(f"the gzip stream is damaged: {error}") from error
        return bytes(content)

    def table(self) -> Iterator[list[str]]:
        """Yield the cells of each row of a table, without quotes and outer blanks.

        Cells are separated by commas, or by the separator of the first line if it has no comma.
        Blank lines are skipped. A cell between double quotes may contain the separator.

        Raises:
            ProblemFileError: see `rows`; also text that is not UTF-8, or quotes that do not end.
        """
        silent = 0
        try:
            decoded = map(self.name, self._lines())
            first = self._first_written(decoded)
            rest = csv.reader(
                chain([first], decoded),
                delimiter=_separator(first),
                strict=True,
                skipinitialspace=True,
            )
            for cells in rest:
                row = [cell.strip() for cell in cells]
                if len(row) > 1 or any(row):
                    silent -= 1
                    yield row
                else:
                    silent += 1
                    self._check_silence(silent)
        except csv.Error as error:
            raise self.error(f"the line is not a row of a table: {error}") from error

    def _first_written(self, lines: Iterable[str]) -> str:
        """Return the first line that is not blank; "" if all are."""
        for skipped, line in enumerate(lines):
            if line.strip():
                return line
            self._check_silence(skipped)
        return ""

    def words(self, title: re.Pattern[bytes] = NO_TITLE) -> Iterator[bytes]:
        """Yield the words of all lines, as `data_rows` does, one by one."""
        for row in self.data_rows(title):
            yield from row

    def error(self, message: str) -> ProblemFileError:
        """Return an error that names the file and the last line that was read."""
        return ProblemFileError(self.path, self.line or None, message)

    def name(self, word: bytes) -> str:
        """Return a name, or a line of names, as text.

        Raises:
            ProblemFileError: it is not UTF-8.
        """
        try:
            return word.decode()
        except UnicodeDecodeError as error:
            near = word[max(0, error.start - 10) : error.start + 10]
            raise self.error(
                f"the text must be UTF-8, and {shown(near)} is not; save the file as UTF-8"
            ) from error

    def integer(self, word: bytes, name: str, low: int, high: int) -> int:
        """Return the integer that `word` writes; errors call it `name`.

        Raises:
            ProblemFileError: it is not an integer, or not in low..high.
        """
        if not INTEGER.fullmatch(word):
            raise self.error(f"{name} must be an integer; it is {shown(word)}")
        value = int(word)
        if not low <= value <= high:
            raise self.error(f"{name} is {value}; it must lie in {low}..{high}")
        return value

    def number(self, word: bytes, name: str) -> float:
        """Return the number that `word` writes; errors call it `name`.

        Raises:
            ProblemFileError: it is not a number, or too large for float64.
        """
        value = math.nan
        if NUMBER.fullmatch(word):
            value = float(word)
        if not math.isfinite(value):
            raise self.error(f"{name} must be a finite number; it is {shown(word)}")
        return value

    def exact_number(self, word: bytes, name: str) -> int | float:
        """Return the number that `word` writes; an integer keeps all of its digits.

        Raises:
            ProblemFileError: see `number`.
        """
        number = self.number(word, name)
        if INTEGER.fullmatch(word):
            return int(word)
        return number

    def check_claim(self, variables: int, entries: int, entry_bytes: int) -> None:
        """Check a header against the size of the file, before anything is allocated.

        Args:
            variables: number of variables that the header claims.
            entries: number of entries that it claims.
            entry_bytes: least number of bytes of an entry.

        Raises:
            ProblemFileError: the claim exceeds `max_bytes` or the size of the file.
        """
        if VARIABLE_BYTES * variables > self.max_bytes:
            raise self.error(
                f"the header claims {variables} variables, which take more than max_bytes = "
                f"{self.max_bytes}; pass a larger max_bytes to read it"
            )
        if entries * entry_bytes > self._capacity + 1:  # the last line may lack its line break
            raise self.error(
                f"the header claims {entries} entries of at least {entry_bytes} bytes, and the "
                f"text has at most {self._capacity}"
            )

    def check_bytes(self, needed: int, what: str) -> None:
        """Raise if something takes more than `max_bytes`.

        Args:
            needed: number of bytes.
            what: the name of the object that takes them, for the error.

        Raises:
            ProblemFileError: it takes more.
        """
        if needed > self.max_bytes:
            raise self.error(
                f"{what} would take {needed} bytes, more than max_bytes = {self.max_bytes}; pass a "
                "larger max_bytes to read the file"
            )

    def _open(self) -> BinaryIO:
        if self._compressed:
            return cast("BinaryIO", gzip.open(self.path))
        return self.path.open("rb")

    def _unmarked(self, line: bytes) -> bytes:
        """Return the start of the text without a byte-order mark."""
        if line.startswith(UTF_16_MARKS):
            raise self.error("the text is in UTF-16; save it as UTF-8 or ASCII")
        return line.removeprefix(UTF_8_MARK)

    def _check_silence(self, silent: int) -> None:
        if silent > MOST_SILENT:
            raise self.error(
                f"the file has {MOST_SILENT} more blank or comment lines than others; remove them "
                "to read it"
            )

    def _check_length(self, length: int, left: int) -> None:
        if length > MAX_LINE:
            raise self.error(f"the line is longer than {MAX_LINE} bytes")
        self._check_left(left)

    def _check_left(self, left: int) -> None:
        if left < 0:
            raise self.error(
                f"the text is larger than max_bytes = {self.max_bytes}; pass a larger max_bytes to "
                "read it"
            )


def _is_comment(line: bytes) -> bool:
    """Return whether the first word of a line is c, or starts with #."""
    start = line.split(maxsplit=1)[0]
    return start == b"c" or start.startswith(b"#")


def _separator(line: str) -> str:
    """Return the separator of the cells of a line, which is a comma if there is one."""
    return next((separator for separator in SEPARATORS if separator in line), ",")


def shown(word: bytes) -> str:
    """Return a word of any bytes and any length in the form that a message shows."""
    dots = ""
    if len(word) > 40:
        dots = "..."
    return repr(word[:40])[1:] + dots
