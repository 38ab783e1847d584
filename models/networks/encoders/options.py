"""The arguments that the class of an encoder takes beside its sizes."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Final

from ...arguments import whole_number
from ...errors import SettingError
from .registry import ENCODERS

SIZES: Final = ("pixels", "n", "k", "hidden")
"""The arguments that every encoder has, by position."""

WITHOUT_EFFECT: Final[Mapping[str, int | str]] = {
    "bandwidth": 0,
    "variables": 1,
    "couplings": "none",
}
"""Values with which any encoder may be made: they ask for nothing."""


def options_of_encoder(name: str) -> tuple[str, ...]:
    """Return the names of the options of an encoder.

    Args:
        name: a name of `ENCODERS`.

    Raises:
        SettingError: no encoder has this name.

    Example:
        >>> options_of_encoder("general"), options_of_encoder("independent")
        (('bandwidth',), ())
    """
    encoder_class = ENCODERS.named(name)
    without_meaning = set(SIZES)
    # Every encoder of bits inherits the bandwidth, which has a meaning for pairs only.
    if not (encoder_class.has_pairs or encoder_class.categorical):
        without_meaning.add("bandwidth")
    return tuple(name for name in _arguments(encoder_class) if name not in without_meaning)


def _arguments(encoder_class: type) -> dict[str, object]:
    """Return the arguments of a class, and those it passes on to its base, with their defaults."""
    defaults: dict[str, object] = {}
    for ancestor in encoder_class.__mro__:
        if "__init__" not in vars(ancestor):
            continue
        _, *parameters = signature(vars(ancestor)["__init__"]).parameters.values()
        kinds = {parameter.kind for parameter in parameters}
        for parameter in parameters:
            if parameter.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
                defaults.setdefault(parameter.name, parameter.default)
        if Parameter.VAR_KEYWORD not in kinds:
            break
    return defaults


def checked_encoder_options(name: str, options: Mapping[str, int | str]) -> dict[str, int | str]:
    """Return the options that an encoder takes, without those that ask for nothing.

    Args:
        name: a name of `ENCODERS`.
        options: arguments of its class beside the sizes.

    Raises:
        SettingError: the encoder has no such option, or a number is too small.
    """
    names = options_of_encoder(name)
    # Variables of categories have pairs only if they are coupled.
    if not ENCODERS[name].has_pairs and options.get("couplings", "none") == "none":
        names = tuple(option for option in names if option != "bandwidth")
    defaults = _arguments(ENCODERS[name])
    chosen: dict[str, int | str] = {}
    for option, value in options.items():
        # A number that has no effect is also the smallest one.
        least = WITHOUT_EFFECT.get(option)
        if isinstance(least, int):
            whole_number(value, option, SettingError, least)
        without_effect = value == WITHOUT_EFFECT.get(option)
        if option in names:
            without_effect = without_effect and value == defaults[option]
            if not without_effect:
                chosen[option] = value
        elif not without_effect:
            raise SettingError(_why_not(name, option, value, names))
    return chosen


def _why_not(name: str, option: str, value: object, names: tuple[str, ...]) -> str:
    """Return why an encoder does not take an option."""
    if option == "bandwidth" and not ENCODERS[name].has_pairs:
        return f"the encoder '{name}' has no pairs, and so no bandwidth; got {value}"
    if option in WITHOUT_EFFECT:
        return (
            f"variables and couplings are options of the encoder 'categorical'; '{name}' has n "
            f"bits; got {option} = {value!r}"
        )
    hint = ""
    if near := get_close_matches(option, names, n=1):
        hint = f"; did you mean {near[0]}?"
    listed = ", ".join(names) or "none"
    return f"the encoder '{name}' has no option {option}{hint}; its options: {listed}"
