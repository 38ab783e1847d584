"""Looking a name up among the known ones, with a suggestion when it is not there."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from ..errors import UnknownDataNameError

T = TypeVar("T")


def look_up(kind: str, name: str, known: Mapping[str, T]) -> T:
    """Return what `name` stands for.

    Args:
        kind: what the name is a name of, for the message, such as `"dataset"`.
        name: the name asked for.
        known: every name that exists, with what it stands for.

    Returns:
        `known[name]`.

    Raises:
        UnknownDataNameError: nothing has this name; the message suggests the closest one.

    Example:
        >>> look_up("split", "test", {"train": 1, "test": 2})
        2
    """
    if name in known:
        return known[name]
    close = get_close_matches(str(name).lower(), known, n=1)
    suggestion = f"Did you mean {close[0]!r}? " if close else ""
    names = ", ".join(repr(each) for each in known)
    raise UnknownDataNameError(f"Unknown {kind} {name!r}. {suggestion}Choose one of: {names}.")
