"""Check that a file holds only known options with plain values, before a parser that can import."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args, get_origin

import yaml

from ...errors import ConfigError, shortened
from .values import types_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The safe loader of libyaml, which is ten times as fast, if PyYAML was built with it."""

LARGEST: Final = 1 << 16
"""Maximum number of characters of a configuration; a typical one has about 900."""

DEEPEST: Final = 16
"""Maximum depth of nested mappings and lists; a configuration has a depth of two."""

LONGEST: Final = 4096
"""Maximum number of characters of a text; the longest texts are paths."""

MAGNITUDE: Final = 1 << 53
"""Maximum absolute value of an integer; a float represents integers up to here exactly."""

TYPES: Final = {int: "a whole number", float: "a plain number", str: "a text", type(None): "None"}
"""Names of the types of values in messages."""


def read_yaml(text: str, place: str) -> dict[str, Any]:
    """Return the mapping in a YAML text.

    Anchors, aliases and tags raise an error. With them, a short text can expand to a huge one, or
    create an object.

    Args:
        text: the content of the file.
        place: the name of the file in messages.

    Raises:
        ConfigError: the text is not valid YAML, is too long or nested too deep, does not hold a
            mapping, or has an anchor, alias or tag.

    Example:
        >>> read_yaml("n: 15", "config.yaml")
        {'n': 15}
    """
    if len(text) > LARGEST:
        raise ConfigError(
            f"{place} has {len(text)} characters; a configuration has at most {LARGEST}"
        )
    try:
        _refuse_structure(yaml.parse(text, Loader=LOADER), place)
        values = yaml.load(text, Loader=LOADER)  # noqa: S506  # a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is not valid YAML: {_one_line(error)}") from error
    if not isinstance(values, dict):
        raise ConfigError(f"{place} does not hold a mapping of options; got {shortened(values)}")
    return values


def _refuse_structure(events: Iterable[yaml.Event], place: str) -> None:
    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ConfigError(f"{place} has an anchor or an alias; write the value itself")
        if tag := getattr(event, "tag", None):
            raise ConfigError(
                f"{place} has the tag {shortened(tag)}; a configuration has only plain values"
            )
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(
            event, yaml.CollectionEndEvent
        )
        if depth > DEEPEST:
            raise ConfigError(
                f"{place} is nested more than {DEEPEST} deep; a configuration has two levels"
            )


def refuse_foreign(values: Mapping[str, Any], types: Mapping[str, Any], place: str = "") -> None:
    """Raise if a key at any depth is not an option, or if a value is not plain.

    Args:
        values: the values of a file.
        types: the type of each option, by name; a dataclass has options of its own.
        place: the prefix of the keys in messages.

    Raises:
        ConfigError: a key is unknown; a group of options is not a mapping; or a value is not a
            text, number, boolean or None, or is too large.

    Example:
        >>> refuse_foreign({"n": 15}, {"n": int})
    """
    if not isinstance(values, Mapping):
        raise ConfigError(
            f"not a training configuration: expected a mapping; got {shortened(values)}"
        )
    for key, value in values.items():
        path = f"{place}{key if isinstance(key, str) else shortened(key)}"
        if key not in types:
            raise ConfigError(
                f"not a training configuration: no option is called {shortened(path)}; there are: "
                f"{', '.join(types)}"
            )
        if is_dataclass(types[key]):
            if not isinstance(value, Mapping):
                raise ConfigError(
                    f"not a training configuration: {path} must be a mapping; got "
                    f"{shortened(value)}"
                )
            refuse_foreign(value, types_of(cast("type[DataclassInstance]", types[key])), f"{path}.")
        else:
            _refuse_value(path, value)


def read_values(values: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a file in the types of the configuration.

    Mappings become groups of options. Numbers that YAML reads as texts, such as 1e-3, become
    numbers.

    Args:
        values: values by option; every key is an option.
        types: the type of each option, by name.

    Example:
        >>> read_values({"learning_rate": "1e-3", "n": 15}, {"learning_rate": float, "n": int})
        {'learning_rate': 0.001, 'n': 15}
    """
    return {name: _read_value(value, types[name]) for name, value in values.items()}


def _read_value(value: Any, type_: Any) -> Any:
    if is_dataclass(type_):
        group = cast("type[DataclassInstance]", type_)
        return group(**read_values(value, types_of(group)))
    if isinstance(value, str) and float in _types(type_):
        try:
            return float(value)
        except ValueError:
            return value
    return value


def as_float(number: float) -> float:
    """Return a number as a float; one that no float holds as it is, so that a check refuses it."""
    try:
        return float(number)
    except OverflowError:
        return number


def mistyped(config: DataclassInstance, place: str = "") -> Iterator[str]:
    """Yield a message for each value, at any depth, that does not have the type of its field.

    Args:
        config: a configuration, whose fields are numbers, texts, choices, None or configurations.
        place: the prefix of the names of fields in messages.

    Example:
        >>> from structured_vae import DataConfig
        >>> list(mistyped(DataConfig()))
        []
    """
    for name, kind in types_of(type(config)).items():
        value = getattr(config, name)
        path = f"{place}{name}"
        if not (isinstance(kind, type) and is_dataclass(kind)):
            if type(value) not in _types(kind):
                wanted = " or ".join(TYPES[type_] for type_ in _named_types(kind))
                yield f"{path} must be {wanted}; got {shortened(value)}"
            elif type(value) is int and abs(value) > MAGNITUDE:
                yield f"{path} is {shortened(value)}; its magnitude can be at most {MAGNITUDE}"
        elif isinstance(value, kind):
            yield from mistyped(value, f"{path}.")
        else:
            yield f"{path} must be an object of {kind.__name__}; got {shortened(value)}"


def _named_types(kind: Any) -> tuple[type, ...]:
    """Return the types of a field that a message names: not integers where floats are possible."""
    types = _types(kind)
    return tuple(type_ for type_ in types if type_ is not int or float not in types)


def _types(kind: Any) -> tuple[type, ...]:
    """Return the types that the value of a field may have; an integer may stand for a float."""
    if get_origin(kind) is Literal:
        return tuple({type(choice): None for choice in get_args(kind)})
    if members := get_args(kind):
        return tuple(type_ for member in members for type_ in _types(member))
    if kind is float:
        return (float, int)
    return (kind,)


def _refuse_value(path: str, value: Any) -> None:
    if not isinstance(value, str | int | float | None):
        raise ConfigError(f"{path} must be a text or a number; got {shortened(value)}")
    if isinstance(value, str) and len(value) > LONGEST:
        raise ConfigError(f"{path} has {len(value)} characters; it can have at most {LONGEST}")
    if isinstance(value, int) and abs(value) > MAGNITUDE:
        raise ConfigError(f"{path} is {shortened(value)}; its magnitude can be at most {MAGNITUDE}")


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
