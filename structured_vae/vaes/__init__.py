"""The kinds of VAE, one folder each: options, networks, training, evaluation, explorer page.

A folder has the name of its kind. Its `kind.py` defines `KIND`, an object of a `Kind` subclass.
Runs, explorer and reproduction use the kind through this object. The files beside the folders hold
what the kinds share. This package may import training, evaluation and everything below them. No
kind imports another kind, except `own`.

The public names are listed in `__init__.pyi` and imported on first use.
"""

from typing import Final

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

KINDS: Final = (
    "discrete",
    "gaussian",
    "mixture",
    "attributes",
    "quantised",
    "own",
)
"""The kinds by the names of their folders. A new kind is a folder and a line here."""
