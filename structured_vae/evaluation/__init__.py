"""What all evaluations share: quantities, the bound, a tighter bound by search, gradients.

This package imports estimators, objectives and posteriors; training and the kinds of VAE use it.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
