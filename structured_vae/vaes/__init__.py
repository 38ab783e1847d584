"""The kinds of VAE, one folder each: options, networks, training, evaluation, explorer page.

A folder is named as the kind. Its `kind.py` holds `KIND`, an object of a `Kind` subclass, through
which runs, explorer and reproduction use it. The files beside the folders are what kinds share.
Stands on training, evaluation and all below; a kind imports no other kind, but for `own`.
"""

from typing import Final

KINDS: Final = (
    "discrete",
    "gaussian",
    "mixture",
    "attributes",
    "quantised",
    "own",
)
"""By the names of their folders. A new kind is a folder and a line here."""
