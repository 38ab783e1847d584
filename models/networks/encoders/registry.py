"""Encoders by the names that a configuration gives them: ours, and those that packages plug in.

Loads no torch: the class of a name is imported when it is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...errors import SettingError
from ...named_classes import NamedClasses

if TYPE_CHECKING:
    from .categorical import CategoricalEncoder
    from .encoder import Encoder

BUILT_IN: Final = {
    "independent": "independent:IndependentEncoder",
    "supermodular": "supermodular:SupermodularEncoder",
    "general": "general:GeneralEncoder",
}
"""Module of this folder and class in it, by name. A new encoder of bits is a file and a line here.

The arguments of a class are pixels, n and hidden units; with pairwise scores also a bandwidth.
"""

CATEGORICAL: Final = {"categorical": "categorical:CategoricalEncoder"}
"""The same for encoders of variables with categories, with the arguments of this class."""

BIT_ENCODERS: Final[NamedClasses[Encoder]] = NamedClasses(
    noun="encoder of bits",
    folder=__package__,
    built_in=BUILT_IN,
    group="models.encoders",
    base="encoder:Encoder",
    error=SettingError,
)
"""All installed encoders of bits, among them those that other packages plug in.

Example:
    >>> "general" in BIT_ENCODERS, "categorical" in BIT_ENCODERS
    (True, False)
"""

ENCODERS: Final[NamedClasses[Encoder | CategoricalEncoder]] = NamedClasses(
    noun="encoder",
    folder=__package__,
    built_in={**BUILT_IN, **CATEGORICAL},
    group="models.encoders",
    base="encoder:Encoder",
    error=SettingError,
)
"""All installed encoders.

Example:
    >>> ENCODERS["general"].has_pairs, ENCODERS["independent"].has_pairs
    (True, False)
"""


def encoder_name(encoder: object) -> str | None:
    """Return the name under which `ENCODERS` has the class of an encoder; None without a name.

    Example:
        >>> encoder_name(ENCODERS["general"](pixels=4, n=2))
        'general'
    """
    for name, encoder_class in ENCODERS.items():
        if type(encoder) is encoder_class:
            return name
    return None
