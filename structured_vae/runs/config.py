"""Warn that these names have moved to `structured_vae.vaes.config`, and give them for one release."""

from ..moved import names_of

__getattr__ = names_of(__name__, "structured_vae.vaes.config")
