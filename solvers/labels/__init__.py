"""Solve pairwise problems over variables of several values: exact argmax and sums.

One call reaches many backends.

score(x) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j],  x_i in {0, ..., sizes[i] -
1},  maximised.

The public names are listed in `__init__.pyi` and imported on first use.
"""

from typing import Any

import lazy_loader

from ..former_names import former_name
from .former_names import CALLS, MODULE_OF, RENAMED

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in MODULE_OF:
        return former_name(__name__, name, MODULE_OF, RENAMED, CALLS)
    return _public(name)
