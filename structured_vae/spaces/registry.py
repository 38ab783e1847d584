"""Spaces of states by the names that configurations and stored models give them.

Loads no torch: the class of a name is imported when it is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from models.named_classes import NamedClasses

from ..errors import ConfigError

if TYPE_CHECKING:
    from .space import StateSpace

BUILT_IN: Final = {
    "subset": "subsets:KOfN",
    "assignment": "assignments:Assignments",
    "matching": "assignments:Matchings",
}
"""Module of this folder and class in it, by name. A new space is a file and a line here."""

SPACES: Final[NamedClasses[StateSpace]] = NamedClasses(
    noun="space",
    folder="structured_vae.spaces",
    built_in=BUILT_IN,
    group="structured_vae.spaces",
    base="space:StateSpace",
    error=ConfigError,
)
"""All installed spaces, except the space of all states.

Example:
    >>> SPACES["subset"].__name__
    'KOfN'
"""
