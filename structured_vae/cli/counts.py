"""Check the whole numbers that options of commands take, before any work."""

from __future__ import annotations

from solvers import OptionError


def check_count(option: str, value: int | None, least: int = 1, most: int | None = None) -> None:
    """Raise if the value of an option is outside its range; None stands for a default.

    Args:
        option: its name, without dashes.
        value: what the user gave.
        least: least number.
        most: largest number; None for no limit.

    Raises:
        OptionError: the value is less than `least` or more than `most`.
    """
    if value is None:
        return
    if value < least:
        raise OptionError(f"{option} must be at least {least}; got {value}")
    if most is not None and value > most:
        raise OptionError(f"{option} must be at most {most}; got {value}")
