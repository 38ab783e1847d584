"""Exact argmax for pairwise binary problems: one call, many backends.

score(z) = sum_i unary[i] z_i + sum_(i<j) pairwise[i,j] z_i z_j,  z in {0,1}^n,  maximised.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
