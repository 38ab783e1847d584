"""Make the space of states that the options of a configuration describe.

The module loads torch only when a class is requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import TYPE_CHECKING, Final

from ...errors import ConfigError, StructureError, shortened
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


def read_options(text: str) -> dict[str, int]:
    """Return the options that a text such as "k=3,least=1" holds.

    Raises:
        ConfigError: the text does not have this form.

    Example:
        >>> read_options("k=3,least=1")
        {'k': 3, 'least': 1}
    """
    options: dict[str, int] = {}
    for assignment in filter(None, text.split(",")):
        name, _, value = assignment.partition("=")
        try:
            options[name.strip()] = int(value)
        except ValueError as error:
            raise ConfigError(
                "space_options must be names with whole numbers, such as k=3,least=1; got "
                f"{shortened(text)}"
            ) from error
    return options
