"""Check the arguments of a call: each message has the name, what is allowed, and the value."""

from __future__ import annotations

import math
import operator
import reprlib
from collections.abc import Callable, Sequence
from numbers import Real
from types import UnionType
from typing import Any, Final, TypeVar

Kind = TypeVar("Kind")

LARGEST_COUNT: Final = 2**31 - 1
"""The largest count, size or number of samples."""


def shortened(value: object) -> str:
    """A value as a message can show it, whatever it is and however long."""
    try:
        return " ".join(reprlib.repr(value).split())
    except ValueError:  # an integer of more digits than Python writes
        return f"{type(value).__name__} of too many digits to show"


def whole_number(
    value: Any,
    name: str,
    error: type[Exception],
    least: int = 1,
    most: int = LARGEST_COUNT,
    none: str = "",
) -> int:
    """Return a whole number as a Python integer.

    Args:
        value: what a caller passed.
        name: the name of the argument, for the message.
        error: the class of the error.
        least: the smallest number that is allowed.
        most: the largest number.
        none: what None stands for, for the message; empty where it is not allowed.
    """
    number = _integer(value)
    if number is not None and least <= number <= most:
        return number
    allowed = f"a whole number of at least {least}"
    if most != LARGEST_COUNT or (number is not None and number > most):
        allowed = f"a whole number from {least} to {most}"
    if none:
        allowed = f"{allowed}, or None for {none}"
    raise refusal(name, allowed, value, error)


def image_size(value: Any, name: str, error: type[Exception]) -> tuple[int, int, int]:
    """Return channels, height and width of an image as three whole numbers.

    Args:
        value: what a caller passed.
        name: the name of the argument, for the message.
        error: the class of the error.
    """
    sizes: list[int | None] = []
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        sizes = [_integer(size) for size in value]
    match sizes:
        case [int(channels), int(height), int(width)] if min(channels, height, width) > 0:
            return channels, height, width
    raise refusal(name, "channels, height and width, three whole numbers", value, error)


def number(
    value: Any,
    name: str,
    error: type[Exception],
    allowed: str,
    fits: Callable[[float], bool] = math.isfinite,
) -> float:
    """Return a finite number as a Python float.

    Args:
        value: what a caller passed.
        name: the name of the argument, for the message.
        error: the class of the error.
        allowed: what is allowed, for the message, such as "a number of at least 0".
        fits: whether a finite number is allowed.
    """
    converted = math.nan
    if isinstance(value, Real):
        converted = _float(value)
    if isinstance(value, bool) or not (math.isfinite(converted) and fits(converted)):
        raise refusal(name, allowed, value, error)
    return converted


def positive_number(value: Any, name: str, error: type[Exception]) -> float:
    """Return a positive, finite number as a Python float; the arguments are those of `number`."""
    return number(value, name, error, "a positive number", lambda converted: converted > 0)


SHARE_BELOW_ONE: Final = "a number of at least 0 and below 1"
"""What `is_share_below_one` allows."""


def is_share_below_one(value: float) -> bool:
    """Return whether a number is at least 0 and below 1."""
    return 0 <= value < 1


def one_of(value: Kind, name: str, error: type[Exception], options: Sequence[Kind]) -> Kind:
    """Return a value that is one of the options, which are names or whole numbers.

    Args:
        value: what a caller passed.
        name: the name of the argument, for the message.
        error: the class of the error.
        options: what is allowed.
    """
    plain = isinstance(value, str | int) and not isinstance(value, bool)
    if plain and value in options:
        return value
    allowed = " or ".join(map(repr, options))
    if len(options) > 2:
        allowed = f"one of {', '.join(map(str, options))}"
    raise refusal(name, allowed, value, error)


def of_kind(
    value: Any, name: str, error: type[Exception], kind: type | UnionType, allowed: str
) -> None:
    """Raise unless a value is an instance of a class.

    Args:
        value: what a caller passed.
        name: the name of the argument, for the message.
        error: the class of the error.
        kind: the class, or a union of several.
        allowed: what is allowed, for the message.
    """
    if not isinstance(value, kind):
        raise refusal(name, allowed, value, error)


def function(value: Any, name: str, error: type[Exception], allowed: str) -> None:
    """Raise unless a value can be called; the arguments are those of `of_kind`."""
    if not callable(value):
        raise refusal(name, allowed, value, error)


def refusal(name: str, allowed: str, value: object, error: type[Exception]) -> Exception:
    """Return the error for an argument that is not allowed.

    Args:
        name: the name of the argument.
        allowed: what is allowed.
        value: what a caller passed.
        error: the class of the error.
    """
    return error(f"{name} must be {allowed}; got {shortened(value)}")


def _integer(value: Any) -> int | None:
    """Return a value as an integer; None where it is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    # Tensors and arrays of several numbers raise errors of their own.
    except (TypeError, ValueError, RuntimeError):
        return None


def _float(value: Any) -> float:
    """Return a number as a float; an integer that no float can hold is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf
