"""What is wrong with a problem file, and where."""

from __future__ import annotations

from pathlib import Path

from ..errors import ProblemError


class ProblemFileError(ProblemError):
    """A file does not hold a problem in the format that it was read as.

    Attributes:
        path: the file.
        line: where in its (decompressed) text, from 1; None where the whole file is meant.
        message: what is wrong.
    """

    def __init__(self, path: Path, line: int | None, message: str):
        self.path = path
        self.line = line
        self.message = message
        super().__init__(path, line, message)

    def __str__(self) -> str:
        place = f"{self.path}, line {self.line}" if self.line else f"{self.path}"
        return f"{place}: {self.message}"
