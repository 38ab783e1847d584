"""Read the word that says whether an objective is minimised or maximised."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ..errors import OptionError, did_you_mean, shortened

Sense: TypeAlias = Literal["minimise", "maximise", "minimize", "maximize", "min", "max"]

SIGNS = {
    "minimise": -1,
    "maximise": 1,
    "minimize": -1,
    "maximize": 1,
    "min": -1,
    "max": 1,
}
"""The sign of the score in the objective, for every spelling of a sense."""


def sign_of(sense: Any) -> int:
    """Return 1 if the objective is maximised, -1 if it is minimised.

    Raises:
        OptionError: `sense` is not a spelling of either word.

    Example:
        >>> sign_of("max"), sign_of("minimize")
        (1, -1)
    """
    if isinstance(sense, str) and sense.lower() in SIGNS:
        return SIGNS[sense.lower()]
    hint = did_you_mean(sense, SIGNS)
    raise OptionError(f"sense must be 'minimise' or 'maximise'; {hint}got {shortened(sense)}")
