"""The options of all kinds together, and the kind that a set of options describes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...errors import ConfigError, shortened
from .. import KINDS
from .older import OLDER, renamed
from .values import choices_of, default_of, types_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@cache
def config_classes() -> dict[str, type[DataclassInstance]]:
    """Return the configuration class of each kind, by its name."""
    package = __package__.rpartition(".")[0]
    return {name: import_module(f"{package}.{name}.config").CONFIG for name in KINDS}


def kinds_with(option: str) -> list[str]:
    """Return the names of the kinds that have an option."""
    return [name for name, config in config_classes().items() if option in types_of(config)]


@cache
def option_types() -> dict[str, Any]:
    """Return the type of every option by name, as in the first kind that has the option."""
    types: dict[str, Any] = {}
    for config in config_classes().values():
        types = {**types_of(config), **types}
    return types


@cache
def option_defaults() -> dict[str, Any]:
    """Return the default of every option by name, as in the first kind that has the option."""
    defaults: dict[str, Any] = {}
    for config in config_classes().values():
        defaults_of_kind = {option.name: default_of(option) for option in fields(config)}
        defaults = {**defaults_of_kind, **defaults}
    return defaults


def resolve_kind(
    options: Mapping[str, Any], model: str
) -> tuple[type[DataclassInstance], dict[str, Any]]:
    """Return the configuration class of the kind in the options, and the options that it has.

    An option of another kind is dropped if it has its default. The default of another kind is also
    dropped if it is not a choice of this kind. For example, the prior uniform of bits leaves the
    model gaussian with its own default.

    Args:
        options: values by name.
        model: the kind, if the options do not name it.

    Raises:
        ConfigError: there is no such kind or option, or an option of another kind is set.
    """
    options = renamed({"model": model, **options})
    name = options["model"]
    if not isinstance(name, str):
        raise ConfigError(f"model must be a text; got {shortened(name)}")
    if name not in KINDS:
        raise ConfigError(f"model must be one of {', '.join(KINDS)}; got {shortened(name)}")
    config = config_classes()[name]
    names = types_of(config)
    for option, value in options.items():
        if option not in names and not _is_unset(option, value):
            kinds = ", ".join(kinds_with(option))
            raise ConfigError(
                f"{option} has no meaning with model {name}; got {shortened(value)}. It is an "
                f"option of: {kinds}"
            )
    chosen = {
        option: value
        for option, value in options.items()
        if option in names and not _is_default_elsewhere(option, value, names[option])
    }
    return config, chosen


def refuse_unknown(options: Mapping[str, Any]) -> None:
    """Raise if no kind has one of the options.

    Raises:
        ConfigError: an option is unknown; the message suggests the nearest name.
    """
    names = option_types()
    if unknown := sorted(set(options) - set(names)):
        near = [match for name in unknown for match in get_close_matches(name, names, n=1)]
        suggestion = ""
        if near:
            suggestion = f". Did you mean {', '.join(near)}?"
        raise ConfigError(
            f"no option is called {', '.join(unknown)}{suggestion}; there are: {', '.join(names)}"
        )


def _is_unset(option: str, value: Any) -> bool:
    """Return whether an option has a default value, of a kind or of older runs."""
    refuse_unknown({option: value})
    default = _plain(option_defaults()[option])
    value = _plain(value)
    if isinstance(default, dict):
        older = OLDER.get(option, {})
        return isinstance(value, Mapping) and {**default, **value} in (default, default | older)
    unset = [*_defaults_of(option), OLDER.get(option, default)]
    return any(type(value) is type(one) and value == one for one in unset)


def _is_default_elsewhere(option: str, value: Any, type_: Any) -> bool:
    """Return whether a value is the default of another kind but not a choice of this kind."""
    choices = choices_of(type_)
    if not choices or not isinstance(value, str) or value in choices:
        return False
    return value in _defaults_of(option)


@cache
def _defaults_of(option: str) -> list[Any]:
    """Return the default of an option in each kind that has it."""
    kinds = (config_classes()[name] for name in kinds_with(option))
    return [default_of(field) for kind in kinds for field in fields(kind) if field.name == option]


def _plain(value: Any) -> Any:
    """Return the fields of a group of options, and other values as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return value
