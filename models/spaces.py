"""Look up spaces of states by the names in stored models."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from .errors import SettingError
from .potentials import LatentSpace

REGISTRY: Final = "structured_vae.spaces.registry"
"""The module with the table of spaces. It lies above this package, so it is imported by name."""


def space_names() -> tuple[str, ...]:
    """Return the names of all installed spaces."""
    return tuple(_spaces())


def named_space(name: str, arguments: Mapping[str, int | str]) -> LatentSpace:
    """Return the space with this name.

    Args:
        name: a name in the table of spaces, or of a plug-in.
        arguments: arguments of its class, such as k of a subset.

    Raises:
        SettingError: no space has this name, a plug-in cannot be used, or the space takes other
            arguments.
    """
    spaces = _spaces()
    if name not in spaces:
        raise SettingError(f"no space is called {name!r}; there are: {', '.join(space_names())}")
    try:
        space_class = spaces[name]
    except ValueError as error:  # of a plug-in that is no space
        raise SettingError(str(error)) from error
    try:
        space: LatentSpace = space_class(**arguments)
    except TypeError as error:
        raise SettingError(
            f"the space {name} cannot be made of {dict(arguments)}: {error}"
        ) from error
    return space


def _spaces() -> Mapping[str, Any]:
    """Import and return the table of spaces."""
    spaces: Mapping[str, Any] = import_module(REGISTRY).SPACES
    return spaces
