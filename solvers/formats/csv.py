"""Tables of scores by pairs, as pandas and spreadsheets write them."""

from __future__ import annotations

import difflib
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..conversions.conversion import Conversion, converted
from .errors import ProblemFileError
from .text import NUMBER, TextFile, shown

COLUMNS = ("i", "j", "score")

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
"""How pandas, R and spreadsheets write an empty cell."""

INDEX = re.compile(r"(Unnamed: 0)?")
"""The name of the column of row numbers that pandas writes first, unless it is told `index=False`."""

WHOLE = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.0*)?")
"""An integer, or an integer as pandas writes it in a column of floats."""

FLOAT = re.compile(r"[+-]?[0-9](\.[0-9]*)?[eE]\+[0-9]+")
"""A float of 1e16 or more, as pandas writes it."""

EXACT = 2**53
"""A float holds every integer up to here."""

LONGEST = 40
"""Digits of an integer beyond which a name stays as it is written."""


def read_csv(text: TextFile) -> Conversion:
    """From the columns `i`, `j` and `score`, in any order, maximised.

    The score is that of a pair, or of a variable alone where j is i or empty. Variables are named
    by any texts. Blanks around a name do not count, and an integer that is written as a float, such
    as 1.0, is the integer. Variables are numbered in the order in which they come; rows of the same
    pair add up.

    Raises:
        ProblemFileError: another form.
    """
    rows = text.table()
    columns = _columns_of(text, next(rows, []))
    places: dict[str, int] = {}
    pairs, scores = array("q"), array("d")
    for cells in rows:
        first, second, score = columns.cells(text, cells)
        name = _name(text, "i", first)
        other = name if second in EMPTY else _name(text, "j", second)
        pairs.append(places.setdefault(name, len(places)))
        pairs.append(places.setdefault(other, len(places)))
        scores.append(text.number(score.encode(), "the score"))
    if not scores:
        raise text.error("there are no rows below the line of names; write one row for each score")
    ends = np.asarray(pairs, np.int64).reshape(-1, 2)
    return converted("maximise", list(places), np.zeros(len(places)), ends, np.asarray(scores), 0.0)


@dataclass(frozen=True)
class _Columns:
    """Where the three columns stand in a row.

    Attributes:
        count: cells of a row.
        places: of i, j and score.
    """

    count: int
    places: tuple[int, ...]

    def cells(self, text: TextFile, row: list[str]) -> Iterator[str]:
        """The cells of i, j and score of a row."""
        if len(row) != self.count:
            raise text.error(
                f"the line has {len(row)} cells, and the first line has {self.count}; put a name or a number with a "
                "comma in it between double quotes"
            )
        return (row[place] for place in self.places)


def _columns_of(text: TextFile, header: list[str]) -> _Columns:
    """Where the line of names has i, j and score."""
    if not header:
        raise text.error("the file is empty; its first line must name the columns i, j and score")
    _check_separator(text, header)
    _check_names(text, header)
    names = [name.lower() for name in header]
    if missing := [name for name in COLUMNS if name not in names]:
        raise _missing(text, missing, header)
    if repeated := [name for name in COLUMNS if names.count(name) > 1]:
        raise text.error(
            f"the column '{repeated[0]}' comes {names.count(repeated[0])} times; keep one"
        )
    first = 1 if INDEX.fullmatch(header[0]) else 0
    if others := [name for name in header[first:] if name.lower() not in COLUMNS]:
        raise text.error(
            f"the column {_shown(others[0])} is none of i, j and score; write these three alone, as "
            "table[['i', 'j', 'score']].to_csv(path, index=False) of pandas does"
        )
    return _Columns(len(header), tuple(names.index(name) for name in COLUMNS))


def _check_separator(text: TextFile, header: list[str]) -> None:
    for separator, name in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(header) == 1 and separator in header[0]:
            raise text.error(
                f"the columns are separated by {name}; separate them by commas: to_csv(..., sep=',')"
            )


def _check_names(text: TextFile, header: list[str]) -> None:
    """Refuses a first line that is a row already."""
    numbers = [cell for cell in header if NUMBER.fullmatch(cell.encode())]
    if numbers:
        raise text.error(
            f"the first line must name the columns, and it has the number {_shown(numbers[0])}; put the line "
            "'i,j,score' above the rows"
        )


def _missing(text: TextFile, missing: list[str], header: list[str]) -> ProblemFileError:
    """The error that says which columns there are not, and which ones may be meant."""
    there = ", ".join(map(_shown, header[:8]))
    near = difflib.get_close_matches(missing[0], header, n=1)
    meant = f"; rename {_shown(near[0])} to '{missing[0]}'" if near else ""
    needed = " and ".join(f"'{name}'" for name in missing)
    return text.error(
        f"there is no column {needed}: the columns are {there}, and a table of scores has i, j and score, in any "
        f"order{meant}"
    )


def _name(text: TextFile, column: str, cell: str) -> str:
    """What the variable of a cell is called: of an integer always the same text.

    Raises:
        ProblemFileError: an empty cell, or a float that may be another integer than the one that
            was meant.
    """
    if cell in EMPTY:
        raise text.error(
            f"{column} is {_shown(cell) if cell else 'empty'}, and every row needs a variable there; an empty j "
            "stands for the score of i alone"
        )
    if not WHOLE.fullmatch(cell) and not FLOAT.fullmatch(cell):
        return cell
    digits, point, _ = cell.partition(".")
    long = len(digits) > LONGEST
    if FLOAT.fullmatch(cell) or (point and (long or abs(int(digits)) >= EXACT)):
        raise text.error(
            f"{column} is {_shown(cell)}: floats do not tell integers of 2^53 and more apart; write whole numbers, "
            f"with table['{column}'].astype('Int64') of pandas, or texts"
        )
    return cell if long else str(int(digits))


def _shown(cell: str) -> str:
    return shown(cell.encode())
