"""Spaces of states by the names that a configuration gives them.

Every name is an entry point, also the names of this library. The module loads torch only when a
class is requested.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from inspect import signature
from typing import TYPE_CHECKING, Final

from ...errors import ConfigError, StructureError, shortened

if TYPE_CHECKING:
    from ...spaces import StateSpace

GROUP: Final = "structured_vae.spaces"
"""The group of entry points of `models.spaces`, with which stored models name their spaces."""

BITS: Final = "bits"
"""The name of the space of all states."""


class Spaces(Mapping[str, "type[StateSpace]"]):
    """The classes of spaces by name, each imported at its first use."""

    def __getitem__(self, name: str) -> type[StateSpace]:
        """Import and return the class with this name.

        Raises:
            ConfigError: the class cannot be imported, or is not a space.
            KeyError: no space has that name.
        """
        point = _points()[name]
        plug_in = f"the space {name} ({point.value})"
        try:
            loaded = point.load()
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"{plug_in} cannot be imported: {error}") from error
        base: type[StateSpace] = import_module("...spaces", __package__).StateSpace
        if not (isinstance(loaded, type) and issubclass(loaded, base)):
            raise ConfigError(f"{plug_in} must be a class that derives from StateSpace")
        return loaded

    def __contains__(self, name: object) -> bool:
        """Return whether a space has this name, without importing it."""
        return name in _points()

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names, in order."""
        yield from _points()

    def __len__(self) -> int:
        """Return the number of names."""
        return len(_points())


SPACES: Final = Spaces()
"""All installed spaces, except the space of all states."""


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


def _points() -> dict[str, EntryPoint]:
    """Return the entry points by name, in order."""
    points = {point.name: point for point in entry_points(group=GROUP)}
    return {name: points[name] for name in sorted(points)}
