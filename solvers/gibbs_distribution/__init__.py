"""Compute log Z, marginals, samples and covariances of the Gibbs distribution of a problem.

The distribution is p(z) = exp(score(z)) / Z. Its sums are exact, by enumeration or elimination.

It depends on `algorithms` and on the packages below; it does
not use backends, and backends do not use it.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
