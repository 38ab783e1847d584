"""What configurations of earlier versions wrote, for files that are older than an option or a kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

OLDER: Final[dict[str, Any]] = {
    "recipe": "paper",
    "sides": 1,
    "epsilon": {"start": 0.1},
    "kl_start": 0.0,
    "kl_warmup": 0,
    "learning_rate": 1e-3,
    "rate_decay": "none",
}
"""What runs had before it could be chosen, or before the default became another.

Files that list the options of all kinds have the same values where an option has no effect.
"""


FORMER_ENCODERS: Final = {"gaussian": "gaussian"}
"""Encoders of the model discrete that are now models, by the names of both."""


def renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in today's spelling."""
    encoder = options.get("encoder")
    if not isinstance(encoder, str) or encoder not in FORMER_ENCODERS:
        return dict(options)
    if options.get("model", "discrete") != "discrete":
        return dict(options)
    others = {name: value for name, value in options.items() if name != "encoder"}
    return {**others, "model": FORMER_ENCODERS[encoder]}


def with_older_defaults(values: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the options of a file, where those that are missing have the values of older runs.

    Args:
        values: of the file.
        names: options that the kind has.
    """
    whole = {name: value for name, value in OLDER.items() if name in names} | dict(values)
    if "epsilon" in names:
        whole["epsilon"] = {**OLDER["epsilon"], **values.get("epsilon", {})}
    return whole
