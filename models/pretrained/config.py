"""config.json of a folder with a model."""

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
"""Bytes of a config.json; ours has about 1,500."""

REQUIRED: Final = ("library_name", "architectures", "dtype", "arguments")
FLOATS: Final = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class PretrainedConfig:
    """What a folder says of its model.

    Attributes:
        model: name of the class.
        dtype: of the weights, as PyTorch calls it.
        arguments: of the networks.
        training: how it was trained, plain values; None where that is not known.
    """

    model: str
    dtype: str
    arguments: Mapping[str, Any]
    training: Mapping[str, Any] | None = None

    def text(self) -> str:
        """The content of config.json; `architectures` and `dtype` are named as the Hugging Face Hub has them."""
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
    """The content of a config.json, every key checked.

    Raises:
        PretrainedError: the file is damaged or is not one of ours.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise ValueError(f"it has more than {LARGEST} bytes")
        values = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise PretrainedError(f"{path} is damaged: {error}") from error
    if not isinstance(values, dict) or values.get("library_name") != LIBRARY:
        raise PretrainedError(f"{path} is not the configuration of a {LIBRARY} model")
    _check_keys(path, values, REQUIRED, ("training",))
    names, dtype, training = values["architectures"], values["dtype"], values.get("training")
    if not (isinstance(names, list) and len(names) == 1 and isinstance(names[0], str)):
        raise PretrainedError(
            f"{path}: architectures must be a list of one name; got {shortened(names)}"
        )
    if dtype not in FLOATS:
        raise PretrainedError(
            f"{path}: dtype must be one of {', '.join(FLOATS)}; got {shortened(dtype)}"
        )
    if not isinstance(values["arguments"], dict) or not isinstance(training, dict | None):
        raise PretrainedError(f"{path}: arguments and training must be mappings")
    return PretrainedConfig(names[0], dtype, values["arguments"], training)


def checked_arguments(
    make: Callable[..., Any], values: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """The arguments of `make`, whose signature says their names and types.

    Raises:
        PretrainedError: a name is unknown or missing, or a value impossible.
    """
    parameters = inspect.signature(make).parameters.values()
    needed = tuple(each.name for each in parameters if each.default is each.empty)
    _check_keys(path, values, needed, tuple(each.name for each in parameters))
    types = get_type_hints(make)
    for name, value in values.items():
        smallest = 0 if name == "least" else 1
        if type(value) is not types[name] or (isinstance(value, int) and value < smallest):
            wanted = "a positive integer" if types[name] is int else "a text"
            raise PretrainedError(f"{path}: {name} must be {wanted}; got {shortened(value)}")
    return dict(values)


def _check_keys(
    path: Path, values: Mapping[str, Any], needed: tuple[str, ...], optional: tuple[str, ...]
) -> None:
    if missing := sorted(set(needed) - set(values)):
        raise PretrainedError(f"{path} lacks {', '.join(missing)}")
    if unknown := sorted(set(values) - {*needed, *optional}):
        raise PretrainedError(
            f"{path} has unknown keys: {', '.join(unknown)[:200]}. If a newer {LIBRARY} wrote it, upgrade: "
            f"pip install --upgrade {LIBRARY}"
        )
