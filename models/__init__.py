"""Networks with a discrete latent space: encoders, decoders, VAEs.

The names that users call are listed in `__init__.pyi` and imported on first use, so that tables of
names load no torch. Everything else is imported from its module. This package imports neither
`solvers` nor `structured_vae`.
"""

from typing import Any

import lazy_loader

from .former_names import MODULE_OF, former_name

_public_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in MODULE_OF:
        return former_name(name)
    return _public_name(name)
