"""Show answers as short tables in a terminal, in a notebook, and as a pandas table."""

from __future__ import annotations

import html
import importlib
import importlib.util
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .errors import SolverUnavailableError, shortened

MOST_ROWS = 10
"""Maximum number of rows that a table shows."""

MOST_LETTERS = 40
"""Maximum length of a state in a table."""

MOST_LETTERS_OF_NAMES = 60
"""Maximum length of an assignment in a table."""


@dataclass(frozen=True)
class Table:
    """Table with a title, which shows the first `MOST_ROWS` rows.

    Attributes:
        title: the title.
        columns: names of the columns.
        rows: strings, one for each column.
        total: number of rows, of which `rows` may be the first ones.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    total: int

    def text(self) -> str:
        """Return the table as lines of text, without blanks at their ends."""
        shown = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = [self.title]
        for row in shown:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            lines.append("  " + "  ".join(cells).rstrip())
        if self._left_out:
            lines.append(f"  ... and {self._left_out} more")
        return "\n".join(lines)

    def html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.columns)
        lines = [f"<caption>{html.escape(self.title)}</caption>", f"<tr>{head}</tr>"]
        for row in self.rows:
            cells = "".join(f"<td>{html.escape(cell)}</td>" for cell in row)
            lines.append(f"<tr>{cells}</tr>")
        more = ""
        if self._left_out:
            more = f"<p>... and {self._left_out} more</p>"
        return f"<table>{''.join(lines)}</table>{more}"

    @property
    def _left_out(self) -> int:
        return self.total - len(self.rows)


def number_text(number: float) -> str:
    """Return a number with as many digits as a reader needs.

    Example:
        >>> number_text(2.0), number_text(0.1 + 0.2)
        ('2', '0.3')
    """
    return f"{number:.10g}"


def seconds_text(seconds: float) -> str:
    """Return a time as the end of a title; empty if it was not measured.

    Example:
        >>> seconds_text(1.23456), seconds_text(float("nan"))
        (', 1.23 s', '')
    """
    if math.isnan(seconds):
        return ""
    return f", {seconds:.3g} s"


def gap_of(score: float, bound: float) -> float:
    """Return the distance between a score and its bound; 0 where they are equal, or infinite."""
    if score == bound:
        return 0.0
    return abs(bound - score)


def certificate_text(optimal: bool) -> str:
    """Return "optimal" or "not proved" for an answer."""
    if optimal:
        return "optimal"
    return "not proved"


def state_text(state: Sequence[int]) -> str:
    """Return a state `[n]` as digits, or as separate numbers if one has several digits.

    A dash stands for a position without a value, such as the padding of a shorter chain.

    Example:
        >>> state_text([1, 0, 1]), state_text([11, 2]), state_text([1, 0, -1])
        ('101', '11 2', '10-')
        >>> state_text([-1, -1])
        'none'
    """
    if len(state) and all(value < 0 for value in state):
        return "none"
    few = state[: MOST_LETTERS + 1]
    between = ""
    if any(value > 9 for value in few):
        between = " "
    return _cut(between.join(map(_digits, few)))


def _digits(value: int) -> str:
    """Return a value in digits; a dash if it is negative, which stands for no value."""
    if value < 0:
        return "-"
    return str(value)


def assignment_text(assignment: Mapping[Any, Any]) -> str:
    """Return an assignment by names, with "..." in place of the values that do not fit.

    Example:
        >>> assignment_text({"a": 1, ("b", 2): 0})
        "a=1 ('b', 2)=0"
        >>> assignment_text({f"person {i}": 0 for i in range(9)})
        'person 0=0 person 1=0 person 2=0 person 3=0 person 4=0 ...'
    """
    text = ""
    for name, value in assignment.items():
        if isinstance(name, str):
            word = name
        else:
            word = shortened(name)
        longer = f"{text} {word}={value}".lstrip()
        if len(longer) > MOST_LETTERS_OF_NAMES:
            if text:
                return f"{text} ..."
            return _cut(longer, MOST_LETTERS_OF_NAMES)
        text = longer
    return text


def _cut(text: str, most: int = MOST_LETTERS) -> str:
    if len(text) <= most:
        return text
    return f"{text[: most - 3]}..."


def data_frame(rows: Sequence[Mapping[Any, Any]], index: Any = None) -> Any:
    """Return a `pandas.DataFrame` of these rows.

    Raises:
        SolverUnavailableError: pandas is not installed.
    """
    if importlib.util.find_spec("pandas") is None:
        raise SolverUnavailableError("to_pandas needs pandas: pip install pandas")
    return importlib.import_module("pandas").DataFrame(rows, index=index)
