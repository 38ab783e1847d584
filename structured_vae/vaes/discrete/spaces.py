"""Make the space of states that the options of a configuration describe.

The module loads torch only when a class is requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Final

from ...errors import ConfigError, StructureError
from ...spaces.registry import SPACES

if TYPE_CHECKING:
    from ...spaces import StateSpace

BITS: Final = "bits"
"""The name of the space of all states."""


def takes(space: str, option: str) -> bool:
    """Return whether a space has an argument of this name; the space of all states has none."""
    if space == BITS:  # before the metadata of all packages are read
        return False
    return space in SPACES and option in signature(SPACES[space]).parameters


def space_of_options(space: str, n: int, options: Mapping[str, int]) -> StateSpace | None:
    """Return the space with this name over states of n bits; None for all states.

    Args:
        space: its name.
        n: length of a state.
        options: arguments of its class.

    Raises:
        ConfigError: the space has no such arguments, or no states of n bits.
    """
    if space == BITS:
        return None
    space_class = SPACES[space]
    names = list(signature(space_class).parameters)
    if unknown := sorted(set(options) - set(names)):
        raise ConfigError(
            f"the space {space} has no option {', '.join(unknown)}; it has: {', '.join(names)}"
        )
    try:
        made = space_class.of_options(n, **options)
        made.check(n)
    except (StructureError, TypeError) as error:
        raise ConfigError(f"the space {space} of n = {n} bits: {error}") from error
    return made
