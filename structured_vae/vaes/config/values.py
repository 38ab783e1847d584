"""Declare the possible values of single options, and check values against them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import MISSING, Field, field, fields
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

from ...errors import shortened

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Value = TypeVar("Value")

LEAST: Final = "least"
"""Key of the smallest value in the metadata of a field."""

NAMES: Final = "names"
"""Key of the collections of possible names in the metadata of a field."""


def named(*names: Collection[str], default: str) -> str:
    """Return a field for a name, which is looked up when a configuration is made.

    Args:
        names: collections that together hold every possible name, such as a registry.
        default: the default name.
    """
    option: str = field(default=default, metadata={NAMES: names})
    return option


def names_of(option: Field[Any]) -> tuple[str, ...]:
    """Return every possible name of an option; empty if its value is not a name."""
    return tuple(name for names in option.metadata.get(NAMES, ()) for name in names)


def at_least(least: int, default: int) -> int:
    """Return a field for a count.

    Args:
        least: the smallest possible value.
        default: the default value.
    """
    option: int = field(default=default, metadata={LEAST: least})
    return option


def known(value: Value | None) -> Value:
    """Return the value of an option that every completed configuration has, for type checkers."""
    if value is None:
        raise TypeError("an option is not known before its configuration is made")
    return value


def default_of(option: Field[Any]) -> Any:
    """Return the default of an option."""
    if option.default_factory is MISSING:
        return option.default
    return option.default_factory()


@cache
def types_of(kind: type[DataclassInstance]) -> dict[str, Any]:
    """Return the type of each option of a configuration class, by name."""
    hints = get_type_hints(kind)
    return {option.name: hints[option.name] for option in fields(kind)}


def choices_of(type_: Any) -> tuple[Any, ...]:
    """Return the possible values of an option of a `Literal` type; empty for other types."""
    types = (type_, *get_args(type_))
    return next((get_args(one) for one in types if get_origin(one) is Literal), ())


def faults_of_values(config: DataclassInstance) -> Iterator[str]:
    """Yield a message for each value that is not a choice of its option, or too small a count."""
    types = types_of(type(config))
    for option in fields(config):
        value = getattr(config, option.name)
        choices = choices_of(types[option.name])
        if value is None:
            continue
        if choices and value not in choices:
            words = ", ".join(map(str, choices))
            yield f"{option.name} must be one of {words}; got {shortened(value)}"
        yield from _fault_of_name(option, value)
        least = option.metadata.get(LEAST)
        if least is not None and value < least:
            yield f"{option.name} must be at least {least}; got {shortened(value)}"


def faults_of_prior_sizes(config: Any, option: str, with_layers: tuple[str, ...]) -> Iterator[str]:
    """Yield a message for each size of the prior's network, if this prior has no such network.

    Args:
        config: a configuration with `prior_hidden` and `prior_layers`.
        option: the option that names the prior.
        with_layers: the names of the priors whose networks have hidden layers.
    """
    prior = getattr(config, option)
    if prior in with_layers:
        return
    for name in ("prior_hidden", "prior_layers"):
        size = getattr(config, name)
        if size:
            yield (
                f"{name} is an option of the priors {' and '.join(with_layers)}, and {option} is "
                f"{prior}; got {size}"
            )


def _fault_of_name(option: Field[Any], value: Any) -> Iterator[str]:
    """Yield a message, with the nearest name, if the value is not a possible name."""
    collections = option.metadata.get(NAMES, ())
    if not collections or any(value in names for names in collections):
        return
    names = names_of(option)
    fault = f"{option.name} must be one of {', '.join(names)}; got {shortened(value)}"
    if near := get_close_matches(value, names, n=1):
        fault += f". Did you mean {near[0]}?"
    yield fault
