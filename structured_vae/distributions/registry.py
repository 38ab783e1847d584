"""Posteriors by the names that a configuration gives them.

Loads no torch: the class of a name is imported when it is looked up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from models.named_classes import NamedClasses

from ..errors import ConfigError

if TYPE_CHECKING:
    from .distribution import DensityDistribution

BUILT_IN: Final = {
    "gibbs": "gibbs:Gibbs",
    "autoregressive": "autoregressive:Autoregressive",
}
"""Module of this folder and class in it, by name. A new posterior is a file and a line here."""

POSTERIORS: Final[NamedClasses[DensityDistribution]] = NamedClasses(
    noun="posterior",
    folder="structured_vae.distributions",
    built_in=BUILT_IN,
    group="structured_vae.posteriors",
    base="distribution:DensityDistribution",
    error=ConfigError,
)
"""All installed posteriors.

Example:
    >>> POSTERIORS["gibbs"].__name__
    'Gibbs'
"""
