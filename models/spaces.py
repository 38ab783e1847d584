"""Look up spaces of states by the names in stored models.

Networks need only the protocol `LatentSpace`. Packages that have spaces offer a table of them, by
an entry point of the group `models.spaces`, so this package knows none of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.metadata import entry_points
from typing import Final, TypeAlias

from .errors import SettingError
from .potentials import LatentSpace

GROUP: Final = "models.spaces"
"""The entry points of tables of spaces: each one is a mapping from names to classes."""

SpaceClass: TypeAlias = Callable[..., LatentSpace]
"""The class of a space. Its arguments are integers and words."""


def space_names() -> tuple[str, ...]:
    """Return the names of all installed spaces."""
    return tuple(name for table in _tables() for name in table)


def named_space(name: str, arguments: Mapping[str, int | str]) -> LatentSpace:
    """Return the space with this name.

    Args:
        name: a name in the table of spaces, or of a plug-in.
        arguments: arguments of its class, such as k of a subset.

    Raises:
        SettingError: no space has this name, a plug-in cannot be used, or the space takes other
            arguments.
    """
    space_class = _space_class(name)
    try:
        return space_class(**arguments)
    except TypeError as error:
        raise SettingError(
            f"the space {name} cannot be made of {dict(arguments)}: {error}"
        ) from error


def _space_class(name: str) -> SpaceClass:
    """Return the class of a space.

    Raises:
        SettingError: no space has this name, or a plug-in cannot be used.
    """
    for table in _tables():
        if name in table:
            try:
                return table[name]
            except ValueError as error:  # of a plug-in that is no space
                raise SettingError(str(error)) from error
    names = ", ".join(space_names())
    if not names:
        names = "none. Install structured-vae again, so that Python finds its spaces"
    raise SettingError(f"no space is called {name!r}; there are: {names}")


def _tables() -> list[Mapping[str, SpaceClass]]:
    """Import and return the tables that installed packages offer."""
    return [point.load() for point in entry_points(group=GROUP)]
