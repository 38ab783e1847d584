"""Read JSON as toulbar2 writes and reads it.

Quotes around names, commas and colons may be missing, and there may be comments: from `#` or `//`
to the end of a line, and between `/*` and `*/`.
"""

from __future__ import annotations

import json
import re
from typing import Any

from ...formats.errors import ProblemFileError
from ...formats.parsing.json_text import loads
from ...formats.parsing.text import NUMBER, TextFile, shown

TOKEN = re.compile(
    r"""(?P<blank>[\s,:]+|\#[^\n]*|//[^\n]*|/\*.*?\*/)"""
    r"""|(?P<mark>[{}\[\]])"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<word>(?:(?!//|/\*)[^\s,:{}\[\]"\#])+)""",
    re.DOTALL,
)
"""Pattern of a token."""

DEEPEST = 20
"""Maximum depth of nested lists and objects."""

CLOSING = {"{": "}", "[": "]"}
"""The end of each mark that begins an object or a list."""


def read_relaxed(text: TextFile) -> Any:
    """Return the value of a file in strict JSON, or in the JSON that toulbar2 accepts.

    Raises:
        ProblemFileError: the text is neither.
    """
    content = text.whole()
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return _Relaxed(text, content).value()
    return loads(text, content)


class _Relaxed:
    """Reader of a text in relaxed JSON."""

    def __init__(self, text: TextFile, content: str):
        self._text = text
        self._content = content
        self._place = 0
        self._kind: str | None = None
        self._token = ""
        self._advance()

    def value(self) -> Any:
        """Return the value of the whole text."""
        value = self._next(0)
        if self._kind is not None:
            raise self._error(f"expected the end of the text; got {self._shown()}")
        return value

    def _next(self, depth: int) -> Any:
        """Return the value that begins here, and move past it."""
        if self._kind is None:
            raise self._error("the text ends before a value")
        if self._kind == "mark":
            return self._collection(depth)
        value = _word(self._token)
        if self._kind == "text":
            value = self._string(self._token)
        self._advance()
        return value

    def _string(self, token: str) -> str:
        try:
            return str(json.loads(token))
        except ValueError as error:
            raise self._error(f"{self._shown()} is not a text of JSON") from error

    def _collection(self, depth: int) -> Any:
        """Return the list or the object that begins here."""
        begin = self._token
        if begin not in CLOSING or depth == DEEPEST:
            raise self._error(f"the text is not JSON: unexpected {self._shown()}")
        self._advance()
        if begin == "[":
            return self._list(depth + 1)
        return self._object(depth + 1)

    def _list(self, depth: int) -> list[Any]:
        values = []
        while not self._ends("]"):
            values.append(self._next(depth))
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        members: dict[str, Any] = {}
        while not self._ends("}"):
            if self._kind == "mark":
                raise self._error(f"expected a name; got {self._shown()}")
            name = self._token
            if self._kind == "text":
                name = self._string(name)
            if name in members:
                raise self._error(f"two members have the name {self._shown()}")
            self._advance()
            members[name] = self._next(depth)
        return members

    def _ends(self, mark: str) -> bool:
        """Return whether a collection ends here; if so, move past its end."""
        if self._kind is None:
            raise self._error(f"the text ends before '{mark}'")
        if (self._kind, self._token) != ("mark", mark):
            return False
        self._advance()
        return True

    def _advance(self) -> None:
        """Move to the next token."""
        while self._place < len(self._content):
            match = TOKEN.match(self._content, self._place)
            if match is None:
                self._token = self._content[self._place]
                raise self._error(f"the text is not JSON: unexpected {self._shown()}")
            if match.lastgroup != "blank":
                self._kind = match.lastgroup
                self._token = match[0]
                self._place = match.end()
                return
            self._place = match.end()
        self._kind = None

    def _shown(self) -> str:
        return shown(self._token[:50].encode(errors="replace"))

    def _error(self, message: str) -> ProblemFileError:
        line = self._content.count("\n", 0, self._place) + 1
        return ProblemFileError(self._text.path, line, message)


def _word(word: str) -> Any:
    """Return a number, or a text without quotes."""
    if not NUMBER.fullmatch(word.encode(errors="replace")):
        return word
    if word.lstrip("+-").isdigit() and len(word) < 20:
        return int(word)
    return float(word)
