"""Read the options of a class, which a configuration has as one text."""

from __future__ import annotations

from ...errors import ConfigError, shortened


def read_options(text: str, field: str) -> dict[str, int]:
    """Return the options that a text such as "k=3,least=1" holds.

    Args:
        text: names with whole numbers.
        field: the field of the configuration that has the text, for messages.

    Raises:
        ConfigError: the text does not have this form, or has a name twice.

    Example:
        >>> read_options("k=3,least=1", "space_options")
        {'k': 3, 'least': 1}
    """
    options: dict[str, int] = {}
    for assignment in filter(None, text.split(",")):
        name, _, value = (piece.strip() for piece in assignment.partition("="))
        if name in options:
            raise ConfigError(f"{field} has {name} twice; got {shortened(text)}")
        try:
            options[name] = int(value)
        except ValueError as error:
            raise ConfigError(
                f"{field} must be names with whole numbers, such as k=3,least=1; got "
                f"{shortened(text)}"
            ) from error
    return options


def titled(options: dict[str, int]) -> str:
    """Return options as words of the name of a folder."""
    return "".join(f"-{name}{value}" for name, value in options.items())
