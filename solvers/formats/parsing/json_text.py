"""Read JSON, and the members of its objects, with errors that name the place."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import ProblemFileError
from .text import TextFile, shown

LARGEST = 2**62
"""Largest absolute value of an integer."""


def loads(text: TextFile, content: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ProblemFileError: the text is not JSON, or an object has two members of one name.
    """
    try:
        return json.loads(content, object_pairs_hook=_unrepeated)
    except json.JSONDecodeError as error:
        message = f"the text is not JSON: {error.msg} in column {error.colno}"
        raise ProblemFileError(text.path, error.lineno, message) from error
    except (ValueError, RecursionError) as error:
        raise text.error(f"the text is not JSON: {str(error)[:80]}") from error


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object without repeated names, of which JSON would keep the last."""
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"two members have the name {max(names, key=names.count)!r}")
    return named


def member(text: TextFile, content: Any, name: str, place: str) -> Any:
    """Return a member of an object.

    Args:
        text: the file.
        content: the object.
        name: the name of the member.
        place: the description of the object, for errors.

    Raises:
        ProblemFileError: `content` is not an object, or has no such member.
    """
    if not isinstance(content, Mapping):
        raise text.error(f"{place} must be an object; it is {_shown(content)}")
    if name not in content:
        raise text.error(f"{place} has no '{name}'")
    return content[name]


def list_of(text: TextFile, content: Any, name: str, place: str) -> Sequence[Any]:
    """Return a member of an object that is a list; see `member`."""
    values = member(text, content, name, place)
    if not isinstance(values, list):
        raise text.error(f"'{name}' of {place} must be a list; it is {_shown(values)}")
    return values


def number_of(text: TextFile, content: Any, name: str, place: str) -> float:
    """Return a member of an object that is a finite number; see `member`."""
    value = member(text, content, name, place)
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308:
        number = float(value)
    if not math.isfinite(number):
        raise text.error(f"'{name}' of {place} must be a finite number; it is {_shown(value)}")
    return number


def integer_of(text: TextFile, content: Any, name: str, place: str) -> int:
    """Return a member of an object that is an integer; see `member`."""
    value = member(text, content, name, place)
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > LARGEST:
        raise text.error(f"'{name}' of {place} must be an integer; it is {_shown(value)}")
    return value


def _shown(value: Any) -> str:
    return shown(str(value)[:60].encode(errors="replace"))
