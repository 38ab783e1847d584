"""Exact argmax and sums for pairwise problems over variables of several values: one call, many backends.

score(x) = sum_i unary[i, x_i] + sum_(i,j) pairwise[(i,j), x_i, x_j],  x_i in {0, ..., sizes[i] -
1},  maximised.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
