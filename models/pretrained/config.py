"""The file config.json of an exported model."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shortened
from typing import Any, Final, get_type_hints

from ..errors import PretrainedError
from .card import LIBRARY

LARGEST: Final = 1 << 20
"""Maximum size of a config.json in bytes; ours has about 1,500."""

REQUIRED: Final = ("library_name", "architectures", "dtype", "arguments")
FLOATS: Final = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class PretrainedConfig:
    """The configuration of an exported model.

    Attributes:
        model: the name of its class.
        dtype: the type of its weights, as PyTorch names it.
        arguments: the arguments of its networks.
        training: the settings of its training as plain values; None if they are not known.
    """

    model: str
    dtype: str
    arguments: Mapping[str, Any]
    training: Mapping[str, Any] | None = None

    def text(self) -> str:
        """Return the content of config.json, with the Hugging Face Hub's names for its keys."""
        values: dict[str, Any] = {
            "library_name": LIBRARY,
            "architectures": [self.model],
            "dtype": self.dtype,
            "arguments": dict(self.arguments),
        }
        if self.training is not None:
            values["training"] = dict(self.training)
        return json.dumps(values, indent=2) + "\n"


def read_config(path: Path) -> PretrainedConfig:
    """Read a config.json, and check every key.

    Raises:
        PretrainedError: the file is damaged, or another program wrote it.
    """
    try:
        # The file may come from anyone: its size is limited before it is read.
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST} bytes")
        values = json.loads(path.read_text(encoding="utf-8"))
    # JSON that is nested too deeply raises a RecursionError.
    except (OSError, ValueError, RecursionError) as error:
        raise PretrainedError(f"{path} is damaged: {error}") from error
    if not isinstance(values, dict) or values.get("library_name") != LIBRARY:
        raise PretrainedError(f"{path} is not the configuration of a {LIBRARY} model")
    _check_keys(path, values, REQUIRED, ("training",))
    _check_values(path, values)
    return PretrainedConfig(
        values["architectures"][0], values["dtype"], values["arguments"], values.get("training")
    )


def _check_values(path: Path, values: Mapping[str, Any]) -> None:
    """Raise if the value of a key of a config.json is of another type.

    Raises:
        PretrainedError: it is.
    """
    names = values["architectures"]
    dtype = values["dtype"]
    if not (isinstance(names, list) and len(names) == 1 and isinstance(names[0], str)):
        raise PretrainedError(
            f"{path}: architectures must be a list of one name; got {shortened(names)}"
        )
    if dtype not in FLOATS:
        raise PretrainedError(
            f"{path}: dtype must be one of {', '.join(FLOATS)}; got {shortened(dtype)}"
        )
    training = values.get("training")
    if not isinstance(values["arguments"], dict) or not isinstance(training, dict | None):
        raise PretrainedError(f"{path}: arguments and training must be mappings")


def checked_arguments(
    make: Callable[..., Any], values: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """Check arguments against the signature of `make`, and return them.

    Args:
        make: the function whose signature states names and types.
        values: the arguments by name.
        path: the file that they come from, for messages.

    Raises:
        PretrainedError: a name is unknown or missing, or a value has a wrong type or range.
    """
    parameters = inspect.signature(make).parameters.values()
    named = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
    needed = tuple(parameter.name for parameter in named if parameter.default is parameter.empty)
    allowed = tuple(parameter.name for parameter in named)
    if len(named) < len(parameters):  # `make` checks the names that its signature leaves open
        allowed += tuple(values)
    _check_keys(path, values, needed, allowed)
    types = get_type_hints(make)
    for name, value in values.items():
        if name in types:
            _check_value(f"{path}: {name}", value, types[name], 1)
        else:
            _check_value(f"{path}: {name}", value, int, 0)  # a subset may be empty
    return dict(values)


def _check_value(place: str, value: object, type_: type, smallest: int) -> None:
    """Raise if an argument has another type, or is a smaller integer."""
    if type(value) is not type_ or (isinstance(value, int) and value < smallest):
        wanted = "a string"
        if type_ is int:
            wanted = "a positive integer"
        raise PretrainedError(f"{place} must be {wanted}; got {shortened(value)}")


def _check_keys(
    path: Path, values: Mapping[str, Any], needed: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    if missing := sorted(set(needed) - set(values)):
        raise PretrainedError(f"{path} lacks {', '.join(missing)}")
    if unknown := sorted(set(values) - {*needed, *optional}):
        raise PretrainedError(
            f"{path} has unknown keys: {', '.join(unknown)[:200]}. If a newer {LIBRARY} wrote it, "
            f"upgrade: pip install --upgrade {LIBRARY}"
        )
