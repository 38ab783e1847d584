"""Read tables of scores of pairs, as pandas and spreadsheets write them."""

from __future__ import annotations

import difflib
import itertools
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...conversions.conversion import Conversion, converted
from ..errors import ProblemFileError
from ..parsing.text import NUMBER, TextFile, shown

COLUMNS = ("i", "j", "score")
"""The names of the columns."""

EMPTY = frozenset(
    (
        "",
        "NA",
        "N/A",
        "n/a",
        "<NA>",
        "#N/A",
        "NaN",
        "nan",
        "-NaN",
        "-nan",
        "NULL",
        "null",
        "None",
        "NaT",
    )
)
"""Empty cells, as pandas, R and spreadsheets write them."""

INDEX = re.compile(r"(Unnamed: 0)?")
"""The name of the column of row numbers that pandas writes first without `index=False`."""

WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")
"""Pattern of an integer, also in the form that pandas writes in a column of floats."""

FLOAT = re.compile(r"[+-]?[0-9](\.[0-9]*)?[eE]\+[0-9]+")
"""Pattern of a float of 1e16 or more in the form that pandas writes."""

EXACT = 2**53
"""Largest integer up to which a float holds every integer."""

LONGEST = 40
"""Largest number of digits of an integer; a longer name stays as it is written."""


def header_starts() -> tuple[bytes, ...]:
    """Return the lines of names that identify a table, with single blanks between words.

    Example:
        >>> b"i,j,score" in header_starts()
        True
    """
    starts = []
    for separator in (",", ", ", ";", "; ", "|", " | ", " "):
        for quote in ("", '"'):
            for order in itertools.permutations(COLUMNS):
                names = separator.join(f"{quote}{name}{quote}" for name in order)
                # Pandas and R leave the name of the column of row numbers empty.
                starts += [names, f"{quote}{quote}{separator}{names}".lstrip()]
    return tuple(start.encode() for start in starts)


def read_csv(text: TextFile) -> Conversion:
    """Read a problem that maximises the sum of scores, from the columns `i`, `j` and `score`.

    The columns may come in any order, between commas, semicolons, tabs or bars.

    A row scores a pair, or a single variable if j is i or empty. Names of variables are arbitrary
    strings. Blanks around a name do not count, and an integer written as a float, such as 1.0, is
    that integer. Variables are numbered in order of appearance; rows of the same pair add up.

    Raises:
        ProblemFileError: the file has another form.
    """
    rows = text.table()
    columns = _columns_of(text, next(rows, []))
    places: dict[str, int] = {}
    pairs = array("q")
    scores = array("d")
    for cells in rows:
        first, second, score = columns.cells(text, cells)
        name = _name(text, "i", first)
        if second in EMPTY:
            other = name
        else:
            other = _name(text, "j", second)
        pairs.append(places.setdefault(name, len(places)))
        pairs.append(places.setdefault(other, len(places)))
        scores.append(text.number(score.encode(), "the score"))
    if not scores:
        raise text.error("there are no rows below the line of names; write one row for each score")
    ends = np.asarray(pairs, np.int64).reshape(-1, 2)
    return converted("maximise", list(places), np.zeros(len(places)), ends, np.asarray(scores), 0.0)


@dataclass(frozen=True)
class _Columns:
    """The places of the three columns in a row.

    Attributes:
        count: number of cells in a row.
        places: the places of i, j and score.
    """

    count: int
    places: tuple[int, ...]

    def cells(self, text: TextFile, row: list[str]) -> Iterator[str]:
        """Return the cells of i, j and score in a row."""
        if len(row) != self.count:
            raise text.error(
                f"the line has {len(row)} cells, and the first line has {self.count}; put a name "
                "or a number that contains the separator between double quotes"
            )
        return (row[place] for place in self.places)


def _columns_of(text: TextFile, header: list[str]) -> _Columns:
    """Return the places of i, j and score in the line of names."""
    if not header:
        raise text.error("the file is empty; its first line must name the columns i, j and score")
    _check_names(text, header)
    names = [name.lower() for name in header]
    if missing := [name for name in COLUMNS if name not in names]:
        raise _missing(text, missing, header)
    _check_columns(text, header)
    return _Columns(len(header), tuple(names.index(name) for name in COLUMNS))


def _check_columns(text: TextFile, header: list[str]) -> None:
    """Raise if a column occurs twice or is unknown; the first column may be an index."""
    names = [name.lower() for name in header]
    for name in COLUMNS:
        if names.count(name) > 1:
            raise text.error(f"the column '{name}' comes {names.count(name)} times; keep one")
    for place, name in enumerate(header):
        is_index = place == 0 and INDEX.fullmatch(name)
        if name.lower() not in COLUMNS and not is_index:
            raise text.error(
                f"the column {_shown(name)} is not i, j or score; write only these three, for "
                "example with table[['i', 'j', 'score']].to_csv(path, index=False) of pandas"
            )


def _check_names(text: TextFile, header: list[str]) -> None:
    """Raise if the first line contains numbers instead of names."""
    numbers = [cell for cell in header if NUMBER.fullmatch(cell.encode())]
    if numbers:
        raise text.error(
            f"the first line must name the columns, and it contains the number "
            f"{_shown(numbers[0])}; put the line 'i,j,score' above the rows"
        )


def _missing(text: TextFile, missing: list[str], header: list[str]) -> ProblemFileError:
    """Return the error that names the missing columns, and suggests the nearest names."""
    there = ", ".join(map(_shown, header[:8]))
    near = difflib.get_close_matches(missing[0], header, n=1)
    meant = ""
    if near:
        meant = f"; rename {_shown(near[0])} to '{missing[0]}'"
    needed = " and ".join(f"'{name}'" for name in missing)
    return text.error(
        f"there is no column {needed}: the columns are {there}, and a table of scores has i, j and "
        f"score, in any order{meant}"
    )


def is_read_back(names: Sequence[str]) -> bool:
    """Return whether these names stay different and are not empty once they are read.

    Example:
        >>> is_read_back(["a", "1"]), is_read_back(["1", "1.0"]), is_read_back(["nan"])
        (True, False, False)
    """
    read = set()
    for name in names:
        cell = name.strip()
        if cell in EMPTY or FLOAT.fullmatch(cell) or "\n" in cell or "\r" in cell:
            return False
        if WHOLE.fullmatch(cell):
            cell = cell.partition(".")[0].removeprefix("+")
        read.add(cell)
    return len(read) == len(names)


def _name(text: TextFile, column: str, cell: str) -> str:
    """Return the name of a variable; an integer always has the same name.

    Raises:
        ProblemFileError: the cell is empty, or a float that may stand for another integer than
            intended.
    """
    if cell in EMPTY:
        cell_text = "empty"
        if cell:
            cell_text = _shown(cell)
        raise text.error(
            f"{column} is {cell_text}, and every row needs a variable there; an empty j stands for "
            "the score of i alone"
        )
    if not WHOLE.fullmatch(cell) and not FLOAT.fullmatch(cell):
        return cell
    digits, point, _ = cell.partition(".")
    long = len(digits) > LONGEST
    if FLOAT.fullmatch(cell) or (point and (long or abs(int(digits)) >= EXACT)):
        raise text.error(
            f"{column} is {_shown(cell)}: floats cannot distinguish integers of 2^53 and more; "
            f"write whole numbers, with table['{column}'].astype('Int64') of pandas, or texts"
        )
    if long:
        return cell
    return str(int(digits))


def _shown(cell: str) -> str:
    return shown(cell.encode())
