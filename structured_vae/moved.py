"""Names of modules that have moved: the old module gives them for one release, with a warning."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any
from warnings import warn


def names_of(old: str, new: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module whose names now lie in another.

    Args:
        old: the module, for the warning.
        new: where the names lie.
    """

    def moved_name(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"module {old!r} has no attribute {name!r}")
        value = getattr(import_module(new), name)
        warn(f"{old}.{name} is now {new}.{name}", DeprecationWarning, stacklevel=2)
        return value

    return moved_name
