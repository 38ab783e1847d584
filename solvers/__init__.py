"""Exact MAP inference for pairwise problems: one call, many backends.

score(z) = sum_i unary[i] z_i + sum_(i<j) pairwise[i,j] z_i z_j,  z in {0,1}^n,  maximised.

The public names are listed in `__init__.pyi` and imported on first use.
"""

from typing import Any

import lazy_loader

from .former_names import MODULE_OF, former_name

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in MODULE_OF:
        return former_name(__name__, name, MODULE_OF, {}, {})
    return _public(name)
