"""Look up spaces of states by the names in stored models."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Final

from .errors import SettingError
from .potentials import LatentSpace

GROUP: Final = "structured_vae.spaces"
"""The group of entry points that name spaces. A file holds such a name, never code."""


def space_names() -> tuple[str, ...]:
    """Return the names of all spaces that are installed, in order."""
    return tuple(sorted({point.name for point in entry_points(group=GROUP)}))


def named_space(name: str, arguments: Mapping[str, int | str]) -> LatentSpace:
    """Return the space with this name.

    Args:
        name: an entry point of the group `structured_vae.spaces`.
        arguments: arguments of its class, such as k of a subset.

    Raises:
        SettingError: no space has this name, or the space takes other arguments.
    """
    for point in entry_points(group=GROUP, name=name):
        try:
            space: LatentSpace = point.load()(**arguments)
        except TypeError as error:
            raise SettingError(
                f"the space {name} cannot be made of {dict(arguments)}: {error}"
            ) from error
        return space
    raise SettingError(f"no space is called {name!r}; there are: {', '.join(space_names())}")
