"""Read configuration files of earlier versions, which lack an option or a kind of today."""

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
"""Values of options in runs that are older than the option, or than its present default.

Files that list the options of all kinds have these values if an option has no effect.
"""


FORMER_ENCODERS: Final = {"gaussian": "gaussian"}
"""Models of today, by their former names as encoders of the model discrete."""


def renamed(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the names of today."""
    encoder = options.get("encoder")
    if not isinstance(encoder, str) or encoder not in FORMER_ENCODERS:
        return dict(options)
    if options.get("model", "discrete") != "discrete":
        return dict(options)
    others = {name: value for name, value in options.items() if name != "encoder"}
    return {**others, "model": FORMER_ENCODERS[encoder]}


def with_older_defaults(values: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    """Return the options of a file, with the values of older runs for missing options.

    Args:
        values: the options of the file.
        names: the names of the options of the kind.
    """
    whole = {name: value for name, value in OLDER.items() if name in names} | dict(values)
    if "epsilon" in names:
        whole["epsilon"] = {**OLDER["epsilon"], **values.get("epsilon", {})}
    return whole
