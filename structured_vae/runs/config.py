"""Deprecated alias of `structured_vae.vaes.config`; its names work here for one release."""

from ..moved import names_of

__getattr__ = names_of(__name__, "structured_vae.vaes.config")
