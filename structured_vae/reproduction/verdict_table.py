"""A table that answers one question about an experiment, for pages and for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .quantities import markdown_table


@dataclass(frozen=True)
class VerdictTable:
    """A table that answers one question about an experiment, with a row for each answer.

    Attributes:
        title: the question.
        header: names of the columns.
        rows: texts, one for each column.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def used(self) -> tuple[list[str], list[list[str]]]:
        """Return header and rows without the columns that are empty in every row."""
        places = [
            place for place in range(len(self.header)) if any(row[place] for row in self.rows)
        ]
        rows = [[row[place] for place in places] for row in self.rows]
        return [self.header[place] for place in places], rows

    def markdown(self) -> list[str]:
        """Return lines of Markdown, with the title in bold above the table."""
        return [f"**{self.title}**", "", *markdown_table(*self.used()), ""]
