"""The objectives of training: costs of latent states, recipes for the KL, and label losses.

The consistency loss is here too. This package imports posteriors; estimators and all packages above
them may import it.

The public names are listed in `__init__.pyi` and imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
