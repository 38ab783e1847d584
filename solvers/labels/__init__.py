"""Solve pairwise problems over variables of several values: exact argmax and sums.

One call reaches many backends.

score(x) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j],  x_i in {0, ..., sizes[i] -
1},  maximised.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import importlib
import warnings
from typing import Any

import lazy_loader

_public, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name != "LabelGibbsEstimate":
        return _public(name)
    message = "solvers.labels.LabelGibbsEstimate is now solvers.GibbsEstimate; the old name goes"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return importlib.import_module("solvers").GibbsEstimate
