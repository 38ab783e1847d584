"""Provide names that have moved to `structured_vae.layer.routing`, with a warning."""

from .moved import names_of

__getattr__ = names_of(__name__, "structured_vae.layer.routing")
