"""Error for problem files that cannot be read."""

from __future__ import annotations

from pathlib import Path

from ..errors import ProblemError


class ProblemFileError(ProblemError):
    """Error for a file that does not contain a problem in the requested format.

    Attributes:
        path: the file.
        line: the line in its (decompressed) text, from 1; None for the whole file.
        message: the reason.
    """

    def __init__(self, path: Path, line: int | None, message: str):
        self.path = path
        self.line = line
        self.message = message
        super().__init__(path, line, message)

    def __str__(self) -> str:
        if self.line:
            return f"{self.path}, line {self.line}: {self.message}"
        return f"{self.path}: {self.message}"
